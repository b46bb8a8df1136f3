/** The bounds of integers of 64 bits, which the projection keeps exactly. */
export const INT64_MIN = -(1n << 63n)
export const INT64_MAX = (1n << 63n) - 1n
export const UINT64_MAX = (1n << 64n) - 1n
