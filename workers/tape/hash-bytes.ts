/** FNV-1a over a byte range: one xor and one multiply a byte, no table. Not for adversaries. */
export function hashBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  seed = 0x811c9dc5,
): number {
  let hash = seed
  for (let i = start; i < end; i++) {
    hash = Math.imul(hash ^ bytes[i]!, 0x01000193) // The caller's range is within `bytes`.
  }
  return hash
}
