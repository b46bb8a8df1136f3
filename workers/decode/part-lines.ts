/** Lines of a part that is not read by lines: where something is, and events kept on one. */

const LINE_FEED = 0x0a
const SPACE = 0x20

export function countLines(bytes: Uint8Array, start: number, end: number): number {
  let lines = 0
  for (
    let i = bytes.indexOf(LINE_FEED, start);
    i >= 0 && i < end;
    i = bytes.indexOf(LINE_FEED, i + 1)
  ) {
    lines++
  }
  return lines
}

/** Line number of position `at`, from 1, in a part that begins at `start`. Cold. */
export function lineOf(bytes: Uint8Array, start: number, at: number): number {
  return 1 + countLines(bytes, start, at)
}

/**
 * Inside valid JSON a line feed can only stand between tokens: a space means the same, and keeps an
 * event on one line of its segment.
 */
export function blankLineFeeds(bytes: Uint8Array, start: number, end: number): void {
  for (let i = start; i < end; i++) {
    if (bytes[i] === LINE_FEED) bytes[i] = SPACE
  }
}
