// The record of a configuration. configuration_table.pxd says what its fields mean.
#ifndef STACKMASK_CONFIGURATION_TABLE_H
#define STACKMASK_CONFIGURATION_TABLE_H

#include <cstdint>

#include "../ids.h"

namespace stackmask {

struct Config {  // 64 bytes: a line of the cache
    int32_t first, count, sure, pop_first, pop_count;
    StepRowId row;
    MapId map;
    int32_t mask_index, mask_epoch;
    TokenId first_token;
    ConfigId first_next;
    uint16_t first_offset;
    uint8_t mask_kind;
    bool accepting : 1, capturing : 1;
    uint64_t reads, ends;
};
static_assert(sizeof(Config) == 64, "a configuration is a line of the cache");

}  // namespace stackmask

#endif
