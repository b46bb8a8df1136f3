/** Starts a fresh service as a child in a data directory of its own, and stops it again. */
import type { ChildProcess } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startMeasured } from './measured-process.ts'
import { isService, type ServiceAddress } from './rest.ts'

/** This build's service. */
const ENTRY = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const START_MS_MAX = 120_000
const POLL_MS = 100
/** As `npm start` sets them (package.json): glibc gives back what a burst needed. */
const MALLOC_SETTINGS = { MALLOC_MMAP_THRESHOLD_: '270336', MALLOC_TRIM_THRESHOLD_: '1048576' }

export interface RunningService extends ServiceAddress {
  readonly pid: number
  readonly dataDirectory: string
  readonly host: string
  readonly port: number
  /** Everything it printed, as far as it is kept. */
  output(): string
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** The `main.js` of another build, to compare with. */
  readonly entry?: string | undefined
  /** Flags of Node itself, before the entry. */
  readonly nodeFlags: readonly string[]
  /** Options of the service, after the entry. */
  readonly serviceFlags?: readonly string[]
  readonly isDataKept: boolean
  /** Of a service that was stopped and whose data was kept, instead of a fresh one. */
  readonly dataDirectory?: string | undefined
  /** An interrupt in the terminal does not reach it: whoever handles that stops it. */
  readonly isDetached?: boolean
}

export async function startService(options: ServiceOptions): Promise<RunningService> {
  const entry = options.entry ?? ENTRY
  if (!existsSync(entry)) throw new Error(`${entry} does not exist: build first`)
  const base =
    options.dataDirectory === undefined
      ? mkdtempSync(join(tmpdir(), 'sluice-bench-'))
      : dirname(options.dataDirectory)
  chmodSync(base, 0o711) // PostgreSQL runs under another uid and must get through.
  const dataDirectory = join(base, 'data')
  const own = ['--data', dataDirectory, '--port', '0', ...(options.serviceFlags ?? [])]
  const args = [...options.nodeFlags, entry, ...own]
  const {
    child,
    output,
    stop: stopChild,
  } = startMeasured(process.execPath, args, {
    env: { ...MALLOC_SETTINGS, ...process.env },
    detached: options.isDetached ?? false,
  })
  const stop = async () => {
    await stopChild()
    if (!options.isDataKept) rmSync(base, { recursive: true, force: true })
  }
  try {
    const address = await waitForAddress(child, output, dataDirectory)
    const { hostname, port } = new URL(address.url)
    const host = hostname.replace(/^\[|\]$/g, '')
    return { ...address, pid: child.pid!, dataDirectory, host, port: Number(port), output, stop }
  } catch (error) {
    await stop()
    throw new Error(`service did not start: ${error}\n${output()}`)
  }
}

async function waitForAddress(
  child: ChildProcess,
  output: () => string,
  dataDirectory: string,
): Promise<ServiceAddress> {
  const tokenFile = join(dataDirectory, 'admin-token')
  const deadlineMs = performance.now() + START_MS_MAX
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null) throw new Error(`it exited with code ${child.exitCode}`)
    const token = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : ''
    // It may print other addresses too (its stores'): the right one knows our token.
    const urls = new Set(output().match(/http:\/\/[\w.[\]:]+:\d+/g))
    if (token !== '') {
      for (const found of urls) {
        const url = found.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//127.0.0.1:')
        if (await isService({ url, token })) return { url, token }
      }
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`no address within ${START_MS_MAX / 1_000} s`)
}
