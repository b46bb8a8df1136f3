/** Moves tape entries along with the bytes that they speak of. */
import { ENTRY_BYTES, EXTENSION } from './tape-entries'

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
