/* What the packages that conclave is made of call of macOS's mach/mach_vm.h, which zig does not have: its one
 * function, as the manual describes it and mach/vm_map.h declares vm_region_64 of smaller numbers. */
#pragma once
#include <mach/mach_types.h>
#include <mach/vm_region.h>

extern kern_return_t mach_vm_region(vm_map_read_t target, mach_vm_address_t *address, mach_vm_size_t *size,
    vm_region_flavor_t flavor, vm_region_info_t info, mach_msg_type_number_t *count, mach_port_t *object);
