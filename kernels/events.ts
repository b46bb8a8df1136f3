/** The events of a batch (`workers/tape/decoded-events.ts`): parallel arrays of integers. */

/** Where an event's text begins and ends. */
export let starts: usize = 0
export let ends: usize = 0
/** Where its entries begin on the tape, and end. */
export let tapeStarts: usize = 0
export let tapeEnds: usize = 0

export function bindEvents(start: usize, end: usize, tapeStart: usize, tapeEnd: usize): void {
  starts = start
  ends = end
  tapeStarts = tapeStart
  tapeEnds = tapeEnd
}
