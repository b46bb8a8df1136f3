/** A ZooKeeper of a test's own, which ClickHouse takes for its Keeper. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LabTools } from './lab-tools.ts'

const START_MS_MAX = 60_000
const JAVA = ['-Xmx64m', '-Xss512k', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const MAIN = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'

export class ZooKeeper {
  readonly #tools: LabTools
  readonly #dir: string
  readonly port: number
  #child: ChildProcess | undefined

  constructor(tools: LabTools, dir: string, port: number) {
    this.#tools = tools
    this.#dir = dir
    this.port = port
  }

  /** Also after `kill`, on the same data. */
  async start(): Promise<void> {
    const { port } = this
    mkdirSync(this.#dir, { recursive: true })
    const config = join(this.#dir, 'zoo.cfg')
    const settings = {
      tickTime: 500,
      dataDir: join(this.#dir, 'data'),
      clientPort: port,
      clientPortAddress: '127.0.0.1',
      'admin.enableServer': false,
      '4lw.commands.whitelist': 'ruok',
      forceSync: 'no',
      maxClientCnxns: 0,
    }
    writeFileSync(
      config,
      Object.entries(settings)
        .map((pair) => `${pair.join('=')}\n`)
        .join(''),
    )
    const output = openSync(join(this.#dir, 'output.txt'), 'a')
    const child = spawn('java', [...JAVA, '-cp', this.#tools.jars, MAIN, config], {
      stdio: ['ignore', output, output],
    })
    this.#child = child
    const deadline = performance.now() + START_MS_MAX
    while ((await ask(port, 'ruok').catch(() => '')) !== 'imok') {
      if (child.exitCode !== null || performance.now() > deadline) {
        await this.kill()
        throw new Error(`ZooKeeper did not start: see ${this.#dir}`)
      }
      await sleep(20)
    }
  }

  async kill(): Promise<void> {
    await endChild(this.#child)
  }

  killNow(): void {
    this.#child?.kill('SIGKILL')
  }

  unref(): void {
    this.#child?.unref()
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child?.kill('SIGCONT')
  }
}

/** kill -9. */
export async function endChild(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

function ask(port: number, word: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setTimeout(300, () => socket.destroy(new Error('no answer')))
    socket.on('error', reject).on('end', () => resolve(text))
    socket.on('data', (data) => {
      text += String(data)
    })
    socket.write(word)
  })
}
