/**
 * How a long load goes, minute by minute: what lasts only for seconds (empty tables, a store's
 * cache, no merges yet) flatters every other figure.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { formatNumber, formatTable } from '../table.ts'
import { type CpuMicros, subtractCpu, totalCpu } from './cpu-ledger.ts'
import type { ProcessWatch } from './process-watch.ts'
import { listParts } from './settled/due-merges.ts'

export interface Minute {
  readonly seconds: number
  readonly events: number
  readonly cpu: CpuMicros
  /** Of the streams' own tables at its end, and how many of them were made by merging. */
  readonly parts: number
  readonly mergedParts: number
  /** Merges under way at its end. */
  readonly merges: number
  /** Of the embedded engine, parts that others were made of included. */
  readonly files: number
  readonly diskBytes: number
  readonly rssBytes: number
}

export interface MinuteLogOptions {
  readonly url: string
  readonly dataDirectory: string | undefined
  readonly watch: Pick<ProcessWatch, 'sample' | 'memory'>
  readonly log: (line: string) => void
  /** For tests. */
  readonly everyMs?: number
}

const ACCEPTED = /^ingest_events_accepted_total(?:\{[^}]*\})? ([0-9.e+]+)$/gm

export class MinuteLog {
  readonly #options: MinuteLogOptions
  readonly #minutes: Minute[] = []
  #timer: NodeJS.Timeout | undefined
  #last: { readonly atMs: number; readonly events: number; readonly cpu: CpuMicros } | undefined

  constructor(options: MinuteLogOptions) {
    this.#options = options
  }

  /** When the load begins. */
  async start(): Promise<void> {
    await this.#look()
    const { everyMs = 60_000, log } = this.#options
    this.#timer = setInterval(() => {
      this.#look().catch((cause) => log(`a minute is missing: ${cause}`))
    }, everyMs)
  }

  get minutes(): readonly Minute[] {
    return this.#minutes
  }

  /** Returns all whole minutes. */
  stop(): readonly Minute[] {
    clearInterval(this.#timer)
    return this.#minutes
  }

  async #look(): Promise<void> {
    const { url, watch, dataDirectory, log } = this.#options
    const text = await (await fetch(`${url}/metrics`)).text()
    const events = [...text.matchAll(ACCEPTED)].reduce((sum, [, n]) => sum + Number(n), 0)
    const { atMs, cpu } = watch.sample()
    const last = this.#last
    this.#last = { atMs, events, cpu }
    if (last === undefined) return
    const parts = dataDirectory === undefined ? [] : listParts(dataDirectory)
    const minute: Minute = {
      seconds: (atMs - last.atMs) / 1_000,
      events: events - last.events,
      cpu: subtractCpu(cpu, last.cpu),
      parts: parts.length,
      mergedParts: parts.filter(({ isMerged }) => isMerged).length,
      ...(dataDirectory === undefined
        ? { files: 0, diskBytes: 0, merges: 0 }
        : countFiles(join(dataDirectory, 'clickhouse'))),
      rssBytes: watch.memory().all.bytes,
    }
    this.#minutes.push(minute)
    log(
      `minute ${this.#minutes.length}: ${formatNumber(minute.events / minute.seconds / 1_000)} k/s`,
    )
  }
}

function countFiles(directory: string) {
  let [files, diskBytes, merges] = [0, 0, 0]
  const walk = (path: string): void => {
    // Merges remove directories while we look.
    for (const entry of tryList(path)) {
      if (entry.isDirectory()) {
        if (entry.name.startsWith('tmp_merge')) merges++
        walk(join(path, entry.name))
      } else {
        files++
        diskBytes += statSync(join(path, entry.name), { throwIfNoEntry: false })?.size ?? 0
      }
    }
  }
  walk(directory)
  return { files, diskBytes, merges }
}

function tryList(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}

/** A line a minute, and how the last quarter compares with the first. */
export function formatMinutes(minutes: readonly Minute[]): string {
  const header = [
    ...['minute', 'k ev/s', 'CPU µs/event', 'of the engine', 'parts', 'merged', 'merging'],
    ...['files', 'engine GB', 'RSS MiB'],
  ]
  const rows = minutes.map((minute, index) => [
    String(index + 1),
    formatNumber(minute.events / minute.seconds / 1_000),
    formatNumber(totalCpu(minute.cpu) / minute.events),
    formatNumber(minute.cpu.clickhouse / minute.events),
    ...[minute.parts, minute.mergedParts, minute.merges, minute.files].map(String),
    formatNumber(minute.diskBytes / 1e9),
    String(Math.round(minute.rssBytes / 1024 / 1024)),
  ])
  const { rate, cpu } = compareQuarters(minutes)
  const told = `last quarter : first quarter  rate ${formatNumber(rate)}, CPU ${formatNumber(cpu)}`
  return `${formatTable(header, rows)}\n${told}`
}

/** Ratios of the rates, and of the CPU an event. */
export function compareQuarters(minutes: readonly Minute[]) {
  const count = Math.max(1, Math.floor(minutes.length / 4))
  const of = (some: readonly Minute[]) => {
    const sum = (value: (minute: Minute) => number) =>
      some.reduce((all, one) => all + value(one), 0)
    const events = sum((minute) => minute.events)
    return {
      rate: events / sum(({ seconds }) => seconds),
      cpu: sum((minute) => totalCpu(minute.cpu)) / events,
    }
  }
  const [first, last] = [of(minutes.slice(0, count)), of(minutes.slice(-count))]
  return { rate: last.rate / first.rate, cpu: last.cpu / first.cpu }
}
