/**
 * Which fields hold integers that only 64 bits without a sign can: the catalog tells them from
 * other integers, so that queries read their column only where there is one. Fields within arrays
 * are left out, except where the block has no column for some path.
 */
import { BLOCK_PATHS_MAX, SHAPE_LEAVES_CHARS_MAX } from '../../src/limits.ts'
import type { ColumnIndex } from '../block/column-index.ts'
import type { EventRange } from '../block/native-block.ts'
import type { TapeSource } from '../block/native-json.ts'
import { UINT64 } from '../block/native-types.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { ENTRY, UINT } from '../tape/tape-types.ts'

/**
 * Of a range of events, as `index` has it, those of the events in `run`, which lie in it. Undefined
 * where that are more than a shape may have fields.
 */
export function largePaths(
  { entries, trie }: TapeSource,
  index: ColumnIndex,
  events: DecodedEvents,
  range: EventRange,
  run: EventRange,
): readonly string[] | undefined {
  const found = new Set<string>()
  let chars = 0
  const isFull = () => found.size > BLOCK_PATHS_MAX || chars > SHAPE_LEAVES_CHARS_MAX
  const add = (node: number) => {
    if (trie.isTooLong(node)) return
    // PostgreSQL's text cannot hold U+0000.
    const path = trie.displayPath(node).replaceAll('\0', '\ufffd')
    if (!found.has(path)) chars += path.length
    found.add(path)
  }
  if (index.skipped > 0) {
    const end = events.tapeEnd[run.first + run.count - 1]!
    for (let at = events.tapeStart[run.first]!; at < end && !isFull(); at += ENTRY) {
      if (entries[at + 1] === UINT) add(entries[at]!)
    }
    return isFull() ? undefined : [...found]
  }
  const [first, end] = [run.first - range.first, run.first - range.first + run.count]
  for (let slot = 0; slot < index.slots && !isFull(); slot++) {
    if ((index.typeMask[slot]! & (1 << UINT64)) === 0) continue
    for (let cell = index.cellStart[slot]!; cell < index.cellStart[slot + 1]!; cell++) {
      const [row, at] = [index.cellRow[cell]!, index.cellEntry[cell]!]
      if (row < first || row >= end || entries[at + 1] !== UINT) continue
      add(entries[at]!)
      break
    }
  }
  return isFull() ? undefined : [...found]
}
