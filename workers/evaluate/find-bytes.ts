/** Finding bytes in bytes, in time linear in both. */

/** Comparisons in vain beyond which the other way is taken, by byte that was looked at. */
const VAIN_PER_BYTE = 4

/** What is looked for; not empty. */
export class Needle {
  readonly bytes: Uint8Array
  #borders: Int32Array | undefined

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** Where it first is in the range, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const needle = this.bytes
    const { length } = needle
    const first = needle[0]!
    const last = end - length
    let vain = 0
    for (let i = start; i <= last; i++) {
      if (bytes[i] !== first) continue
      let k = 1
      while (k < length && bytes[i + k] === needle[k]) k++
      if (k === length) return i
      vain += k
      if (vain > VAIN_PER_BYTE * (i - start + 16)) return this.#findByBorders(bytes, i + 1, end)
    }
    return -1
  }

  /** Knuth, Morris and Pratt: no byte is looked at twice but for what the borders say. */
  #findByBorders(bytes: Uint8Array, start: number, end: number): number {
    const needle = this.bytes
    this.#borders ??= bordersOf(needle.length, (a, b) => needle[a] === needle[b])
    const borders = this.#borders
    let k = 0
    for (let i = start; i < end; i++) {
      while (k > 0 && bytes[i] !== needle[k]) k = borders[k - 1]!
      if (bytes[i] === needle[k]) k++
      if (k === needle.length) return i + 1 - k
    }
    return -1
  }
}

/** By prefix (its length less one): how long the longest is that it begins and ends with. */
export function bordersOf(length: number, isEqual: (a: number, b: number) => boolean): Int32Array {
  const borders = new Int32Array(length)
  let k = 0
  for (let i = 1; i < length; i++) {
    while (k > 0 && !isEqual(i, k)) k = borders[k - 1]!
    if (isEqual(i, k)) k++
    borders[i] = k
  }
  return borders
}
