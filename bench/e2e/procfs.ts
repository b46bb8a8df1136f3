/** Reads what Linux says about processes. Parsing is apart from reading, to be testable. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Linux shows user space 100 ticks a second, whatever the kernel's own rate is. */
const MICROS_PER_TICK = 10_000

export interface ProcessStat {
  readonly pid: number
  /** With `pid`, names a process for good: pids are used again. */
  readonly startTicks: number
  readonly ppid: number
  readonly comm: string
  /** User and system time of the process, dead threads included. */
  readonly ownMicros: number
  /** The same of its children that ended and were waited for, and of theirs. */
  readonly reapedMicros: number
}

/** `/proc/<pid>/stat`. The name may hold spaces and parentheses, so it ends at the last `)`. */
export function parseProcessStat(text: string): ProcessStat {
  const nameStart = text.indexOf('(')
  const nameEnd = text.lastIndexOf(')')
  if (nameStart < 0 || nameEnd < nameStart) throw new Error('not a /proc/<pid>/stat line')
  // Fields are numbered from 1 in proc(5); the one after the name is number 3.
  const fields = text.slice(nameEnd + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  return {
    pid: Number(text.slice(0, nameStart)),
    comm: text.slice(nameStart + 1, nameEnd),
    ppid: field(4),
    ownMicros: (field(14) + field(15)) * MICROS_PER_TICK,
    reapedMicros: (field(16) + field(17)) * MICROS_PER_TICK,
    startTicks: field(22),
  }
}

export interface ProcessMemory {
  readonly rssBytes: number
  readonly peakRssBytes: number
  /** Memory of its own; `fileBytes` and `sharedBytes` may be the same pages as another's. */
  readonly anonymousBytes: number
  readonly fileBytes: number
  readonly sharedBytes: number
}

/** The memory lines of `/proc/<pid>/status`. */
export function parseProcessMemory(text: string): ProcessMemory {
  const bytes = (name: string) => {
    const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)
    return match ? Number(match[1]) * 1024 : 0
  }
  return {
    rssBytes: bytes('VmRSS'),
    peakRssBytes: bytes('VmHWM'),
    anonymousBytes: bytes('RssAnon'),
    fileBytes: bytes('RssFile'),
    sharedBytes: bytes('RssShmem'),
  }
}

export function listProcesses(): ProcessStat[] {
  const stats: ProcessStat[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = tryRead(`/proc/${name}/stat`)
    if (stat !== undefined) stats.push(parseProcessStat(stat))
  }
  return stats
}

export function tryReadMemory(pid: number): ProcessMemory | undefined {
  const status = tryRead(`/proc/${pid}/status`)
  return status === undefined ? undefined : parseProcessMemory(status)
}

/** CPU of the thread that runs the event loop: the one whose id is the process id. */
export function tryReadMainThreadMicros(pid: number): number | undefined {
  const stat = tryRead(`/proc/${pid}/task/${pid}/stat`)
  return stat === undefined ? undefined : parseProcessStat(stat).ownMicros
}

export function readCommandLine(pid: number): string {
  return (tryRead(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ')
}

export function tryReadWorkingDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined // Gone, a kernel thread, or not ours to see.
  }
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined // The process ended between two looks.
  }
}
