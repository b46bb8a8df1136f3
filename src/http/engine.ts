/**
 * The HTTP engine: the first of these that loads.
 *
 *   1. `uWebSockets.js`, an alias for a build of upstream's newest (for Linux with glibc 2.38)
 *   2. `@trufflesuite/uws-js-unofficial`, an older upstream build (glibc 2.34, Node 16 to 20)
 *   3. `node-engine.ts`, the same interface on node:http: correct everywhere, several times slower
 *
 * The second package would fall back to a JavaScript server of its own that prints to stdout and
 * has neither pause nor query strings; so its native binary is loaded directly, and 3 is ours.
 * The interfaces below are the part of uWebSockets.js that all of them have; use nothing else.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { HEAD_BYTES_MAX } from '../limits.ts'
import { createNodeApp } from './node-engine.ts'

/** Valid only during the route handler's synchronous part. */
export interface EngineRequest {
  /** Empty when absent. */
  getHeader(lowerCaseName: string): string
  /** Every header line, names in lower case. */
  forEach(visit: (lowerCaseName: string, value: string) => void): void
  getParameter(index: number): string | undefined
  /** The path without the query string. */
  getUrl(): string
  getMethod(): string
  getQuery(): string | undefined
}

/** Valid until it is ended, closed or aborted: any later call is undefined behaviour. */
export interface EngineResponse {
  writeStatus(status: string | Uint8Array): unknown
  writeHeader(name: string, value: string): unknown
  end(body: string | Uint8Array, closeConnection: boolean): unknown
  /**
   * Sends as much of `rest`, the body from where it is now, as can be sent at once; nothing is kept
   * of the others. `totalBytes` are the whole body's. Whether all that was given could be sent,
   * and whether the reply is over.
   */
  tryEnd(rest: Uint8Array, totalBytes: number): readonly [isTaken: boolean, isDone: boolean]
  /** `handler` hears when more can be sent, from `offset` of the body on: see `tryEnd`. */
  onWritable(handler: (offset: number) => boolean): unknown
  /**
   * Ends a reply to HEAD, or one whose status has no body. Takes no length: with one, 20.30 sends
   * the reply and goes on waiting for its body.
   */
  endWithoutBody(): unknown
  /** Closes the connection at once; the abort handler runs. */
  close(): unknown
  cork(write: () => void): unknown
  onAborted(handler: () => void): unknown
  /** An ArrayBuffer is detached once `handler` returns. */
  onData(handler: (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown
  pause(): unknown
  resume(): unknown
}

export type EngineHandler = (response: EngineResponse, request: EngineRequest) => void
export type EngineMethod = 'get' | 'post' | 'put' | 'patch' | 'del' | 'head' | 'any'
/** Truthy when listening. */
export type ListenToken = object | false

export interface EngineApp extends Record<EngineMethod, AddRoute> {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (token: ListenToken) => void,
  ): unknown
  /** Closes every socket at once. */
  close(): unknown
  /** Not the older builds: `change` is 1 when a connection opens, negative when it closes. */
  filter?(handler: (response: unknown, change: number) => void): unknown
}
type AddRoute = (pattern: string, handler: EngineHandler) => unknown

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

export interface Engine {
  /** For the start log. */
  readonly name: string
  readonly version: string
  /** What `end` is given was read when it returns. */
  readonly copiesBodies: boolean
  /** Throws when the certificate or key cannot be used. */
  createApp(tls: TlsFiles | undefined): EngineApp
  closeListenSocket(token: object): void
  localPort(token: object): number
  /**
   * Sends `message` as it is after `HTTP/1.1 `, as a whole response, while the engine goes on
   * believing that none was sent: so the request body keeps coming and `close` stays valid.
   */
  writeRaw(response: EngineResponse, message: Uint8Array): void
}

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

/** What is to be told of it: packages and the linker throw many lines of advice and paths. */
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
    createApp: (tls) =>
      tls === undefined
        ? native.App({})
        : native.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile }),
    closeListenSocket: (token) => native.us_listen_socket_close(token),
    localPort: (token) => native.us_socket_local_port(token),
    // writeStatus copies its text to the socket unchecked and adds a CRLF, which is past the
    // message's Content-Length; a client ignores that since the message says Connection: close.
    writeRaw: (response, message) => {
      response.cork(() => response.writeStatus(message))
    },
  }
}

/**
 * The package's own name (`name` may be an alias) and version. Some packages hide their
 * package.json from `require`, so it is looked for by path.
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
