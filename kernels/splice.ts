/** What changing events asks of the tape: where entries of interest are, and to copy others. */
import { DEAD, ENTRY_BYTES, EXTENSION } from './tape-entries'

/**
 * Writes the entries from `from` up to `to` once more at `out`: their positions are `shift` bytes
 * further, and where extensions end on the tape `moved` integers.
 */
export function copyEntries(from: usize, to: usize, out: usize, shift: i32, moved: i32): void {
  const moveText = i32x4(0, 0, shift, shift)
  const moveEnd = i32x4(0, 0, 0, moved)
  let target = out
  for (let entry = from; entry < to; entry += ENTRY_BYTES, target += ENTRY_BYTES) {
    const isExtension = load<i32>(entry, 4) === EXTENSION
    v128.store(target, i32x4.add(v128.load(entry), isExtension ? moveEnd : moveText))
  }
}

/**
 * The first entry from `from` on that is under a key with one of the flags `wanted`, or under one
 * that nobody asked about; `to` when there is none. `flags`: by node, `count` of them.
 */
export function findFlagged(from: usize, to: usize, flags: usize, count: i32, wanted: u32): usize {
  let entry = from
  for (; entry < to; entry += ENTRY_BYTES) {
    const type = load<i32>(entry, 4)
    if (type === EXTENSION || type === DEAD) continue
    const node = load<i32>(entry)
    if (node >= count) break
    const found = <u32>load<u8>(flags + node)
    if (found === 0 || (found & wanted) !== 0) break
  }
  return entry
}
