/**
 * The events of a batch (`workers/tape/decoded-events.ts`): addresses of parallel arrays of
 * integers.
 */
@unmanaged
export class Events {
  /** Where an event's text begins and ends. */
  starts: usize = 0
  ends: usize = 0
  /** Where its entries begin on the tape, and end. */
  tapeStarts: usize = 0
  tapeEnds: usize = 0
}
