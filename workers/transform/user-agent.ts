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
import { heldBytes } from '../kernel/arena-copy.ts'
import { kernels } from '../kernel/kernels.ts'
import { KnownObject } from './known-object.ts'
import { UserAgentBudget } from './user-agent-budget.ts'

/** Nothing recognized: nothing is added. */
export const NO_USER_AGENT = new KnownObject(new Uint8Array(0))

interface RememberedAgent {
  readonly text: Uint8Array
  readonly parsed: KnownObject
}

export class UserAgents {
  /** In this batch. */
  hits = 0
  misses = 0
  /** Not remembered, and not parsed as the stream's budget was spent. */
  skipped = 0
  /** By a hash of the string; of two strings with the same one, the newer is remembered. */
  readonly #parsed = new LRUCache<number, RememberedAgent>({
    max: USER_AGENT_CACHE_MAX,
    dispose: (agent) => this.#forgotten.push(agent),
  })
  /** Their memory is given back with the next batch: edits of this one may hold them. */
  #forgotten: RememberedAgent[] = []
  readonly #decoded = arena.buffer(USER_AGENT_BYTES_MAX)
  readonly #budget = new UserAgentBudget()

  /** Starts a batch: whose budget pays for it, and when it was received. */
  begin(streamId: number, receivedAtMs: number): void {
    this.hits = 0
    this.misses = 0
    this.skipped = 0
    this.#budget.begin(streamId, receivedAtMs)
    for (const { text, parsed } of this.#forgotten) {
      arena.release(text)
      if (parsed !== NO_USER_AGENT) arena.release(parsed.json)
    }
    this.#forgotten = []
  }

  /** The parsed string at `start`..`end` of `bytes`, which are the arena's, or NO_USER_AGENT. */
  lookUp(bytes: Buffer, start: number, end: number): KnownObject {
    const stop = Math.min(end, start + USER_AGENT_BYTES_MAX)
    const length = stop - start
    const address = bytes.byteOffset + start
    const key = kernels.hashText(address, length)
    const known = this.#parsed.get(key)
    if (known !== undefined && isText(known.text, address, length)) {
      this.hits++
      return known.parsed
    }
    if (!this.#budget.tryTake(length)) {
      this.skipped++
      return NO_USER_AGENT
    }
    this.misses++
    const parsed = parseUserAgent(bytes.toString('utf8', start, stop))
    this.#parsed.set(key, { text: heldBytes(bytes.subarray(start, stop)), parsed })
    return parsed
  }

  /** The same for a string with escapes; one that is too long to be decoded here is not parsed. */
  lookUpEscaped(bytes: Buffer, start: number, end: number): KnownObject {
    if (end - start > USER_AGENT_BYTES_MAX) return NO_USER_AGENT
    const length = unescapeInto(bytes, start, end, this.#decoded, 0)
    return this.lookUp(this.#decoded, 0, length)
  }
}

function isText(text: Uint8Array, address: number, length: number): boolean {
  if (text.length !== length) return false
  return kernels.isSameText(text.byteOffset, address, length) !== 0
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
