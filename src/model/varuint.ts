/** Unsigned integers, seven bits per byte, lowest first; the eighth bit means that more follow. */

/** Precondition: a safe integer, not negative. */
export function pushVaruint(bytes: number[], value: number): void {
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
}

/** Reads one at `at.index` and advances it. Throws when the bytes end within the integer. */
export function readVaruint(bytes: Uint8Array, at: { index: number }): number {
  let value = 0
  for (let factor = 1; ; factor *= 0x80) {
    const byte = bytes[at.index++]
    if (byte === undefined) throw new Error('an integer is cut short')
    value += (byte & 0x7f) * factor
    if (byte < 0x80) return value
  }
}
