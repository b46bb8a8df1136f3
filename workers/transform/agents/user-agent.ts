/**
 * What user agent strings say, as the JSON of the object that is put beside each. Parsing runs some
 * hundred regular expressions (`parse-user-agent.ts`), so results are remembered; the same strings
 * come back all day.
 *
 * Strings are cut to `USER_AGENT_BYTES_MAX` before they are parsed: that bounds what a hostile one
 * can cost (docs/decisions/0011-user-agents.md has the measurements). Their number is bounded by
 * the budget (`user-agent-budget.ts`).
 */
import { LRUCache } from 'lru-cache'
import { USER_AGENT_BYTES_MAX } from '../../../src/limits.ts'
import { arena } from '../../kernel/arena.ts'
import { kernels } from '../../kernel/kernels.ts'
import { unescapeInto } from '../../tape/json-string.ts'
import { AgentCard } from '../rewrite/agent-card.ts'
import { parseUserAgent } from './parse-user-agent.ts'
import { UserAgentBudget } from './user-agent-budget.ts'

/** User agent strings whose parsed form a worker remembers. */
export const USER_AGENT_CACHE_MAX = 8_192

/** A power of two; with four slots each, nearly all remembered strings fit. */
const SETS = 8_192
/** A slot: the string's hash, and the card's address, 0 where it is empty. */
const PLACE = 2
const SET = 4 * PLACE

export class UserAgents {
  /** In this batch. */
  hits = 0
  misses = 0
  /** Not remembered, and not parsed as the stream's budget was spent. */
  skipped = 0
  /** By a hash of the string; of two strings with the same one, the newer is remembered. */
  readonly #cards = new LRUCache<number, AgentCard>({
    max: USER_AGENT_CACHE_MAX,
    dispose: (card, hash) => this.#forget(card, hash),
  })
  /**
   * Sets by the last bits of the hash, each with its newest cards: where the kernel looks. A card
   * found there does not count as used above, so strings are evicted in the order in which they
   * came; one that is still in use is then parsed once more. Empty until `known`.
   */
  #places = arena.int32(0)
  /** Their memory is given back with the next batch: edits of this one may hold them. */
  #forgotten: AgentCard[] = []
  readonly #decoded = arena.buffer(USER_AGENT_BYTES_MAX)
  readonly #budget = new UserAgentBudget()

  /** Starts a batch: whose budget pays for it, and when it was received. */
  begin(streamId: number, receivedAtMs: number): void {
    this.hits = 0
    this.misses = 0
    this.skipped = 0
    this.#budget.begin(streamId, receivedAtMs)
    for (const card of this.#forgotten) card.release()
    this.#forgotten = []
  }

  /** The kernel's context of cards: their slots, sets, and how much of a text counts. */
  known(): readonly number[] {
    if (this.#places.length === 0) {
      this.#places = arena.replaced(this.#places, arena.addresses(SETS * SET))
    }
    return [this.#places.byteOffset, SETS - 1, USER_AGENT_BYTES_MAX]
  }

  /** What is known of the string at `start`..`end` of `bytes` of the arena, if anything. */
  lookUp(bytes: Buffer, start: number, end: number): AgentCard | undefined {
    const text = bytes.subarray(start, Math.min(end, start + USER_AGENT_BYTES_MAX))
    const hash = kernels.hashText(text.byteOffset, text.length)
    let card = this.#cards.get(hash)
    if (card !== undefined && isText(card, text)) {
      this.hits++
    } else {
      if (!this.#budget.tryTake(text.length)) {
        this.skipped++
        return undefined
      }
      this.misses++
      const { json, fields } = parseUserAgent(text.toString())
      card = new AgentCard(text, Buffer.from(json), fields)
      this.#cards.set(hash, card)
    }
    this.#place(card, hash)
    return card.json.length > 0 ? card : undefined
  }

  /** The same for a string with escapes; one that is too long to be decoded here is not parsed. */
  lookUpEscaped(bytes: Buffer, start: number, end: number): AgentCard | undefined {
    if (end - start > USER_AGENT_BYTES_MAX) return undefined
    const length = unescapeInto(bytes, start, end, this.#decoded, 0)
    return this.lookUp(this.#decoded, 0, length)
  }

  /** Puts a card first in its set; where that is full, the one that came first leaves. */
  #place(card: AgentCard, hash: number): void {
    const places = this.#places
    const at = (hash & (SETS - 1)) * SET
    for (let i = at; i < at + SET; i += PLACE) if (places[i + 1] === card.address) return
    places.copyWithin(at + PLACE, at, at + SET - PLACE)
    places[at] = hash
    places[at + 1] = card.address
  }

  #forget(card: AgentCard, hash: number): void {
    const places = this.#places
    const at = (hash & (SETS - 1)) * SET
    for (let i = at; i < at + SET; i += PLACE) {
      if (places[i + 1] === card.address) places[i + 1] = 0
    }
    this.#forgotten.push(card)
  }
}

function isText(card: AgentCard, { byteOffset, length }: Buffer): boolean {
  const { text } = card
  return text.length === length && kernels.isSameText(text.address, byteOffset, length) !== 0
}
