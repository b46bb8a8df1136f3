/** Tells how far a backup or restore is: on a terminal in place, else a line now and then. */
export interface Progress {
  begin(bytesAbout: number): void
  add(bytes: number): void
  end(): void
}

/** Writes to stderr, say. */
export interface ProgressOutput {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const TERMINAL_MS = 500
const LINES_MS = 10_000
const MIB = 1024 * 1024

export const NO_PROGRESS: Progress = {
  begin: () => undefined,
  add: () => undefined,
  end: () => undefined,
}

export function tellProgress(output: ProgressOutput, nowMs: () => number): Progress {
  const isTerminal = output.isTTY === true
  const everyMs = isTerminal ? TERMINAL_MS : LINES_MS
  let about = 0
  let bytes = 0
  const startMs = nowMs()
  let toldMs = startMs
  const tell = (end: string) => {
    const seconds = Math.max(0.001, (nowMs() - startMs) / 1_000)
    const of = about > bytes ? ` of about ${mib(about)}` : ''
    const text = `${mib(bytes)}${of} MiB, ${mib(bytes / seconds)} MiB/s`
    output.write(isTerminal ? `\r${text.padEnd(50)}${end}` : `${text}\n`)
  }
  return {
    begin: (bytesAbout) => {
      about = bytesAbout
    },
    add: (more) => {
      bytes += more
      if (nowMs() - toldMs < everyMs) return
      toldMs = nowMs()
      tell('')
    },
    end: () => tell('\n'),
  }
}

export function mib(bytes: number): string {
  return (bytes / MIB).toFixed(1)
}
