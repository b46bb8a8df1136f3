/**
 * The HTTP engine: the first of these that loads.
 *
 *   1. `uWebSockets.js`, an alias for a build of upstream's newest (for Linux with glibc 2.38)
 *   2. `@trufflesuite/uws-js-unofficial`, an older upstream build (glibc 2.34, Node 16 to 20)
 *   3. `node-engine.ts`, the same interface on node:http: correct everywhere, several times slower
 *
 * The second package would fall back to a JavaScript server of its own that prints to stdout and
 * has neither pause nor query strings; so its native binary is loaded directly, and 3 is ours.
 * `engine.ts` has the interface that they share.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { HEAD_BYTES_MAX } from '../limits.ts'
import type { Engine, EngineApp, EngineResponse } from './engine.ts'
import { sendContinue } from './interim-answer.ts'
import { createNodeApp } from './node-engine.ts'

/** What both native packages export. */
interface NativeModule {
  App(options: object): EngineApp
  SSLApp(options: { key_file_name: string; cert_file_name: string }): EngineApp
  us_listen_socket_close(token: object): void
  us_socket_local_port(token: object): number
}

const require = createRequire(import.meta.url)

export interface LoadedEngine {
  readonly engine: Engine
  /** Why each faster one did not load: not built for this Node, libc or platform. For the log. */
  readonly notLoaded: readonly string[]
}

/** Loads the fastest engine that works here. Never throws: the last one always works. */
export function loadEngine(): LoadedEngine {
  const notLoaded: string[] = []
  for (const [name, specifier] of nativePackages()) {
    const engine = tryLoadNative(name, specifier)
    if (typeof engine !== 'string') return { engine, notLoaded }
    notLoaded.push(engine)
  }
  return { engine: nodeEngine, notLoaded }
}

/** All that work here, for tests: each must behave the same. */
export function loadEngines(): readonly Engine[] {
  const engines = nativePackages().map(([name, specifier]) => tryLoadNative(name, specifier))
  return [...engines.filter((engine) => typeof engine !== 'string'), nodeEngine]
}

function nativePackages(): (readonly [name: string, specifier: string])[] {
  const { platform, arch, versions } = process
  const binary = `binaries/uws_${platform}_${arch}_${versions.modules}.node`
  const older = '@trufflesuite/uws-js-unofficial'
  return [
    ['uWebSockets.js', 'uWebSockets.js'],
    [older, `${older}/${binary}`],
  ]
}

/** The part of the error to report: packages and the linker add many lines of advice and paths. */
function shortReason(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  const glibc = /version [`'](GLIBC(?:XX)?_[\d.]+)' not found/.exec(text)?.[1]
  if (glibc !== undefined) return `needs ${glibc.replace('_', ' ')} or newer`
  if (/cannot find module/i.test(text)) return `not built for Node.js ${process.versions.node} here`
  return text.split('\n', 1)[0]!.slice(0, 200)
}

/** Or why it did not load. */
function tryLoadNative(name: string, specifier: string): Engine | string {
  const identity = packageIdentity(name)
  let native: NativeModule
  try {
    // Read when it is loaded, by the newer one only.
    process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(HEAD_BYTES_MAX)
    native = require(specifier) as NativeModule
  } catch (cause) {
    return `${identity.name} ${identity.version}: ${shortReason(cause)}`
  }
  return {
    ...identity,
    copiesBodies: true,
    endsChunks: false,
    createApp: (tls) =>
      tls === undefined
        ? native.App({})
        : native.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile }),
    closeListenSocket: (token) => native.us_listen_socket_close(token),
    localPort: (token) => native.us_socket_local_port(token),
    sendContinue,
    // writeStatus copies its text to the socket unchecked and adds a CRLF, which is past the
    // message's Content-Length; a client ignores that since the message says Connection: close.
    writeRaw: (response, message) => {
      response.cork(() => response.writeStatus(message))
    },
  }
}

/**
 * The package's own name (`name` may be an alias) and version. Some packages hide their
 * package.json from `require`, so it is found by path.
 */
function packageIdentity(name: string): { name: string; version: string } {
  for (const folder of require.resolve.paths(name) ?? []) {
    const path = `${folder}/${name}/package.json`
    if (!existsSync(path)) continue
    const manifest = require(path) as { name?: unknown; version?: unknown }
    return { name: String(manifest.name), version: String(manifest.version) }
  }
  return { name, version: 'unknown' }
}

/** The engine on node:http; exported so that tests run the same cases against it. */
export const nodeEngine: Engine = {
  name: 'node:http',
  version: process.versions.node,
  copiesBodies: false,
  endsChunks: true,
  createApp: createNodeApp,
  closeListenSocket: (token) => (token as NodeListenToken).closeListenSocket(),
  localPort: (token) => (token as NodeListenToken).port,
  writeRaw: (response, message) => (response as NodeRawResponse).writeRaw(message),
}

interface NodeListenToken {
  readonly port: number
  closeListenSocket(): void
}

interface NodeRawResponse extends EngineResponse {
  writeRaw(message: Uint8Array): void
}
