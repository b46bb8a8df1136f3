/** Prints matches with the events around them: groups, with `--` between them. */
import type { ChosenStreams } from '../chosen-streams.ts'
import type { Client } from '../client.ts'
import type { Terminal } from '../terminal.ts'
import { type ContextPart, type ContextSize, StreamContext } from './context.ts'
import type { EventOutput } from './event-output.ts'
import type { TimeBasis } from './event-values.ts'

export interface ContextOutputOf {
  readonly client: Client
  readonly terminal: Terminal
  readonly output: EventOutput
  readonly streams: ChosenStreams
  readonly size: ContextSize
  /** By which clock events are neighbours. */
  readonly basis: TimeBasis
  readonly paths: readonly string[] | undefined
}

/** Of several streams each has its own neighbours. One call at a time. */
export class ContextOutput {
  readonly #of: ContextOutputOf
  readonly #streams = new Map<string, StreamContext>()
  /** Of which stream the last event was that was printed. */
  #lastStream: string | undefined
  #toldShortfall: string | undefined

  constructor(of: ContextOutputOf) {
    this.#of = of
  }

  /** `match` is a record, with `_stream` where there are several. */
  async match(match: string): Promise<void> {
    const { _stream: named } = JSON.parse(match) as { readonly _stream?: string }
    const streamId = named ?? this.#of.streams.streams[0]!.id
    this.#print(streamId, await this.#contextOf(streamId).match(match))
  }

  /** What follows the last matches, as far as it is there. */
  async end(): Promise<void> {
    for (const [streamId, context] of this.#streams) this.#print(streamId, await context.rest())
  }

  #contextOf(streamId: string): StreamContext {
    const { client, basis, size, paths, streams } = this.#of
    const known = this.#streams.get(streamId)
    if (known !== undefined) return known
    const { isSeveral } = streams
    const context = new StreamContext({ client, streamId, basis, size, paths, isSeveral })
    this.#streams.set(streamId, context)
    return context
  }

  #print(streamId: string, { rest, isApart, events, shortfall }: ContextPart): void {
    const { output, terminal } = this.#of
    if (rest.length + events.length > 0) {
      if (rest.length > 0 && this.#lastStream !== streamId) output.part()
      for (const event of rest) output.print(event)
      const isOther = rest.length === 0 && this.#lastStream !== streamId
      if (events.length > 0 && (isApart || isOther)) output.part()
      for (const event of events) output.print(event)
      this.#lastStream = streamId
    }
    if (shortfall !== undefined && shortfall !== this.#toldShortfall) {
      this.#toldShortfall = shortfall
      terminal.note(`not all that is around matches: ${shortfall}`)
    }
  }
}
