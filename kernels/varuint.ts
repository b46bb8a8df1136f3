/** LEB128, as ClickHouse and the segment's layout have lengths. */

/** Lengths below it are one byte. */
const LONG_LENGTH: usize = 0x80

/** Writes a length to `to`; returns where it ends. */
export function putLength(length: usize, to: usize): usize {
  let out = to
  let rest = length
  while (rest >= LONG_LENGTH) {
    store<u8>(out++, <u8>(rest | LONG_LENGTH))
    rest >>= 7
  }
  store<u8>(out++, <u8>rest)
  return out
}
