/** The bounds of 64-bit integers, which the projection stores exactly. */
export const INT64_MIN = -(1n << 63n)
export const INT64_MAX = (1n << 63n) - 1n
export const UINT64_MAX = (1n << 64n) - 1n

/** A time within what the projection can hold and compare: DateTime64(9) wraps past it. */
export function clampNs(ns: bigint): bigint {
  if (ns < INT64_MIN) return INT64_MIN
  return ns > INT64_MAX ? INT64_MAX : ns
}
