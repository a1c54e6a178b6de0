// Limits of work. See work_meter.pyx.
#ifndef STACKMASK_WORK_METER_H
#define STACKMASK_WORK_METER_H

#include <cstdint>

namespace stackmask {

constexpr int64_t ENDLESS = int64_t{1} << 60;
constexpr double PATIENCE = 0.002;  // seconds that a request waits for a store before it moves

}  // namespace stackmask

#endif
