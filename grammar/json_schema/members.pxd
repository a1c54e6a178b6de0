cpdef tuple sort_out(tuple atoms)
cpdef list find_members(object algebra, object make, dict declared, dict required, list rules, dict names)
