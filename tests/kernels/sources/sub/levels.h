#include "shift.h"
#define LEVEL(i) SHIFT(i)
