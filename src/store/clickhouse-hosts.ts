/**
 * The servers that a ClickHouse URL names, of which the first that answers is asked. Where there
 * are several, each is pinged: one that does not answer is left alone until it does, and what
 * waits for it ends. Of a single one nothing is assumed; each request finds out.
 */
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'

export interface Probed {
  /** Whether it may be asked. */
  readonly isFit: boolean
  /** Whether it may lack what others have, and others may read it nevertheless. */
  readonly isBehind: boolean
  /** Of its clock before ours, in milliseconds, where it tells. */
  readonly aheadMs?: number
}

/** Where a server is in its cluster's definition. */
export interface ReplicaPlace {
  readonly shard: number
  /** In the shard, from 0. */
  readonly replica: number
  /** That the shard has. */
  readonly replicas: number
}

export interface HostsOptions {
  readonly onChange?: (host: ClickHouseHost) => void
  /** Rejects where a server does not answer; by default it is pinged. */
  readonly probe?: (url: string, signal: AbortSignal) => Promise<Probed>
  /** For tests. */
  readonly pingEveryMs?: number
  readonly pingMsMax?: number
}

const PING_EVERY_MS = 1_000
const PING_MS_MAX = 2_000
/** Probes that must fail, one after the other, before a server counts as away. */
const FAILURES_MIN = 2

export class ClickHouseHost {
  /** With credentials; never shown. */
  readonly url: string
  /** Whether it is pinged: then it is known when it is away. */
  readonly isWatched: boolean
  readonly #onChange: HostsOptions['onChange']
  #isAway = false
  /** See `Probed`: as of the last probe. */
  isBehind = false
  /** …and of the last that told. */
  aheadMs = 0
  /** Where it is known. */
  replicaPlace: ReplicaPlace | undefined
  /** Requests that wait for it. */
  readonly #waiting = new Set<AbortController>()

  constructor(url: string, isWatched: boolean, onChange?: HostsOptions['onChange']) {
    this.url = url
    this.isWatched = isWatched
    this.#onChange = onChange
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /**
   * For one request: aborts with the given one, or when the host is found away. Not by
   * `AbortSignal.any`, which keeps something of each request while the host is there.
   */
  signalWith(given: AbortSignal | undefined): { signal: AbortSignal; release: () => void } {
    const controller = new AbortController()
    const abort = () => controller.abort()
    this.#waiting.add(controller)
    if (given?.aborted === true) abort()
    given?.addEventListener('abort', abort, { once: true })
    const release = () => {
      this.#waiting.delete(controller)
      given?.removeEventListener('abort', abort)
    }
    return { signal: controller.signal, release }
  }

  /** `host:port` */
  get name(): string {
    return new URL(this.url).host
  }

  report(isAway: boolean): void {
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    if (isAway) {
      for (const controller of this.#waiting) controller.abort()
      this.#waiting.clear()
    }
    this.#onChange?.(this)
  }
}

export class ClickHouseHosts {
  readonly #hosts: ClickHouseHost[]
  readonly #stopping = new AbortController()

  /** `urls`: each of one server, at least one, the first preferred. `stop` ends the pings. */
  constructor(urls: readonly string[], options: HostsOptions = {}) {
    const { onChange } = options
    this.#hosts = urls.map((url) => new ClickHouseHost(url, urls.length > 1, onChange))
    if (urls.length === 1) return
    for (const host of this.#hosts) void this.#watch(host, options)
  }

  /** Of some of them, with what is known of these; watched as long as all. */
  static of(hosts: readonly ClickHouseHost[]): ClickHouseHosts {
    const some = new ClickHouseHosts([])
    for (const host of hosts) some.add(host)
    return some
  }

  get hosts(): readonly ClickHouseHost[] {
    return this.#hosts
  }

  /** The least preferred. */
  add(host: ClickHouseHost): void {
    this.#hosts.push(host)
  }

  /** The first that is known neither to be away nor to lack anything, if there is one. */
  get first(): ClickHouseHost {
    const answering = this.#hosts.filter(({ isAway }) => !isAway)
    return answering.find(({ isBehind }) => !isBehind) ?? answering[0] ?? this.#hosts[0]!
  }

  /** Those after the first that are not known to be away. */
  get others(): readonly ClickHouseHost[] {
    const { first } = this
    return this.#hosts.filter((host) => host !== first && !host.isAway)
  }

  stop(): void {
    this.#stopping.abort()
  }

  async #watch(
    host: ClickHouseHost,
    { pingEveryMs = PING_EVERY_MS, pingMsMax = PING_MS_MAX, probe = ping }: HostsOptions,
  ): Promise<void> {
    const { signal } = this.#stopping
    let failures = 0
    while (!signal.aborted) {
      const within = AbortSignal.any([signal, AbortSignal.timeout(pingMsMax)])
      const probed = await probe(host.url, within).catch(() => SILENT)
      host.isBehind = probed.isBehind
      host.aheadMs = probed.aheadMs ?? host.aheadMs
      const answers = probed.isFit
      // A timer may have been late together with the answer: then the answer comes first.
      if (!answers) await immediate()
      if (signal.aborted) return
      failures = answers ? 0 : failures + 1
      if (answers || failures >= FAILURES_MIN) host.report(!answers)
      await sleep(pingEveryMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }
}

const SILENT: Probed = { isFit: false, isBehind: false }

async function ping(url: string, signal: AbortSignal): Promise<Probed> {
  const { origin } = new URL(url)
  const answer = await fetch(`${origin}/ping`, { signal })
  await answer.text()
  return { isFit: answer.ok, isBehind: false }
}

/**
 * `http://user:password@a:8123,b:8123/database` as a URL of each server. What is no such list is
 * returned as it is, for the one that reads it to say so.
 */
export function splitHosts(url: string): string[] {
  const [, before, hosts, after] = /^(https?:\/\/(?:[^@/]*@)?)([^/?#@]*)(.*)$/.exec(url) ?? []
  if (hosts === undefined || !hosts.includes(',')) return [url]
  return hosts.split(',').map((host) => `${before}${host}${after}`)
}
