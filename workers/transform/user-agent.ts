/**
 * What a user agent string says about browser, system and device, as the JSON of the object that
 * is put beside it. Parsing runs some hundred regular expressions, so results are remembered; the
 * same strings come back all day.
 *
 * Strings are cut to `USER_AGENT_BYTES_MAX` before they are parsed: that bounds what a hostile one
 * can cost (docs/decisions/0011-user-agents.md has the measurements). How many of them, the budget
 * does (`user-agent-budget.ts`).
 */
import { LRUCache } from 'lru-cache'
import UAParser from 'ua-parser-js'
import { USER_AGENT_BYTES_MAX, USER_AGENT_CACHE_MAX } from '../../src/limits.ts'
import { unescapeInto } from '../decode/json-string.ts'
import { arena } from '../kernel/arena.ts'
import { HeldText } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import { KnownObject } from './known-object.ts'
import { UserAgentBudget } from './user-agent-budget.ts'

/** Nothing recognized: nothing is added. */
export const NO_USER_AGENT = new KnownObject(new Uint8Array(0))

interface RememberedAgent {
  readonly hash: number
  readonly text: HeldText
  readonly parsed: KnownObject
}

/** A power of two, with room for most of what is remembered. */
const PLACES = 16_384

export class UserAgents {
  /** In this batch. */
  hits = 0
  misses = 0
  /** Not remembered, and not parsed as the stream's budget was spent. */
  skipped = 0
  /** By a hash of the string; of two strings with the same one, the newer is remembered. */
  readonly #parsed = new LRUCache<number, RememberedAgent>({
    max: USER_AGENT_CACHE_MAX,
    dispose: (agent) => this.#forget(agent),
  })
  /**
   * By the end of the hash, of several the one asked for last: spares most look-ups above, which
   * cost more than all else here. What is found here does not count as used there, so strings leave
   * in the order in which they came; one still in use is then parsed once more.
   */
  readonly #places = new Array<RememberedAgent | undefined>(PLACES).fill(undefined)
  /** Their memory is given back with the next batch: edits of this one may hold them. */
  #forgotten: RememberedAgent[] = []
  readonly #decoded = arena.buffer(USER_AGENT_BYTES_MAX)
  readonly #budget = new UserAgentBudget()
  /** The bytes that were last asked for, and where they lie. */
  #source: Uint8Array | undefined
  #address = 0

  /** Starts a batch: whose budget pays for it, and when it was received. */
  begin(streamId: number, receivedAtMs: number): void {
    this.hits = 0
    this.misses = 0
    this.skipped = 0
    this.#budget.begin(streamId, receivedAtMs)
    for (const { text, parsed } of this.#forgotten) {
      text.release()
      if (parsed !== NO_USER_AGENT) parsed.release()
    }
    this.#forgotten = []
  }

  /** The parsed string at `start`..`end` of `bytes`, which are the arena's, or NO_USER_AGENT. */
  lookUp(bytes: Buffer, start: number, end: number): KnownObject {
    const stop = Math.min(end, start + USER_AGENT_BYTES_MAX)
    const length = stop - start
    if (bytes !== this.#source) {
      this.#source = bytes
      this.#address = bytes.byteOffset
    }
    const address = this.#address + start
    const hash = kernels.hashText(address, length)
    const known = this.#places[hash & (PLACES - 1)]
    if (known !== undefined && known.hash === hash && isText(known.text, address, length)) {
      this.hits++
      return known.parsed
    }
    return this.#lookUpOlder(bytes.subarray(start, stop), address, hash)
  }

  /** The same for a string with escapes; one that is too long to be decoded here is not parsed. */
  lookUpEscaped(bytes: Buffer, start: number, end: number): KnownObject {
    if (end - start > USER_AGENT_BYTES_MAX) return NO_USER_AGENT
    const length = unescapeInto(bytes, start, end, this.#decoded, 0)
    return this.lookUp(this.#decoded, 0, length)
  }

  #forget(agent: RememberedAgent): void {
    const place = agent.hash & (PLACES - 1)
    if (this.#places[place] === agent) this.#places[place] = undefined
    this.#forgotten.push(agent)
  }

  /** What is not at its place. */
  #lookUpOlder(text: Buffer, address: number, hash: number): KnownObject {
    let agent = this.#parsed.get(hash)
    if (agent !== undefined && isText(agent.text, address, text.length)) {
      this.hits++
    } else {
      if (!this.#budget.tryTake(text.length)) {
        this.skipped++
        return NO_USER_AGENT
      }
      this.misses++
      agent = { hash, text: new HeldText(text), parsed: parseUserAgent(text.toString()) }
      this.#parsed.set(hash, agent)
    }
    this.#places[hash & (PLACES - 1)] = agent
    return agent.parsed
  }
}

function isText(text: HeldText, address: number, length: number): boolean {
  return text.length === length && kernels.isSameText(text.address, address, length) !== 0
}

/** Cold: the object's JSON, without the keys that have no value. */
export function parseUserAgent(text: string): KnownObject {
  const parser = new UAParser(text)
  const browser = parser.getBrowser()
  const system = parser.getOS()
  const device = parser.getDevice()
  const fields = {
    browser_family: browser.name,
    browser_version: browser.version,
    os_family: system.name,
    os_version: system.version,
    device_family: device.model,
    device_brand: device.vendor,
    device_type: device.type,
  }
  const json = JSON.stringify(fields, (_, value) => (value === '' ? undefined : value))
  return json === '{}' ? NO_USER_AGENT : new KnownObject(Buffer.from(json))
}
