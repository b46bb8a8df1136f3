/** The command line as a process of its own, against a service. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const ENTRY = fileURLToPath(new URL('../../src/cli.js', import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Running {
  /** What came on stdout so far. */
  readonly out: () => string
  /** Ctrl+C; resolves when it has ended. */
  readonly stop: () => Promise<Ran>
}

export class CommandLine {
  readonly #env: Readonly<Record<string, string | undefined>>

  constructor(service: { readonly url: string; readonly token: string }) {
    const { url, token } = service
    this.#env = { PATH: process.env.PATH, SLUICE_URL: url, SLUICE_TOKEN: token }
  }

  async run(
    args: readonly string[],
    { input = '', env = {} }: { input?: string; env?: Readonly<Record<string, string>> } = {},
  ): Promise<Ran> {
    const child = this.#spawn(args, env)
    const ended = collect(child)
    child.stdin.end(input)
    return await ended.ran
  }

  begin(args: readonly string[]): Running {
    const child = this.#spawn(args, {})
    const { ran, out } = collect(child)
    const killAtExit = () => child.kill('SIGKILL')
    process.once('exit', killAtExit)
    return {
      out,
      stop: async () => {
        child.kill('SIGINT')
        process.off('exit', killAtExit)
        return await ran
      },
    }
  }

  #spawn(args: readonly string[], env: Readonly<Record<string, string>>) {
    return spawn(process.execPath, [ENTRY, ...args], {
      env: { ...this.#env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  }
}

function collect(child: ReturnType<typeof spawn>) {
  let [out, err] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ran = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }))
  return { ran, out: () => out }
}

/** Until it is true: some seconds at most. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 150; turn++) {
    if (await isSo()) return
    await sleep(100)
  }
  throw new Error('it did not come to that')
}
