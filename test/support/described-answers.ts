/**
 * Compares answers with what `GET /v1/openapi.json` says of them: types, nulls, and members that
 * the description does not name.
 */
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Ajv2020 } from 'ajv/dist/2020.js'

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, Json>> }>
  >
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Json
}

export class DescribedAnswers {
  /** What differs, a line each. */
  readonly faults: string[] = []
  /** Operations of which a success with JSON was compared. */
  readonly compared = new Set<string>()
  readonly #document: Document
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })

  constructor(document: unknown) {
    this.#document = document as Document
  }

  /** Those that answer JSON. */
  get operations(): string[] {
    const all = Object.values(this.#document.paths).flatMap((methods) => Object.values(methods))
    const isJson = ({ responses }: Operation) =>
      Object.values(responses).some(({ content }) => content?.['application/json'] !== undefined)
    return all.filter(isJson).map(({ operationId }) => operationId)
  }

  check(method: string, url: string, status: number, type: string, text: string): void {
    const operation = this.#find(method, url.split('?')[0] ?? '')
    if (operation === undefined) return
    const { operationId, responses } = operation
    const mediaType = type.split(';')[0] ?? ''
    const answer = responses[String(status)] ?? responses.default
    const schema = answer?.content?.[mediaType]?.schema
    const where = `${operationId} ${status} ${mediaType}`
    // Of others' protocols no contents are described.
    if (!/json/.test(mediaType) || (answer !== undefined && answer.content === undefined)) return
    if (schema === undefined) {
      this.faults.push(`${where} is not described`)
      return
    }
    if (mediaType === 'application/json' && status < 300) this.compared.add(operationId)
    const closed = { ...closedSchema(schema as Json), components: this.#document.components }
    const validate = this.#ajv.compile(closed)
    const values = mediaType === 'application/x-ndjson' ? text.trimEnd().split('\n') : [text]
    for (const value of values.filter((line) => line !== '')) {
      if (validate(JSON.parse(value))) continue
      for (const { instancePath, message, params } of validate.errors ?? []) {
        const fault = `${where}: ${instancePath} ${message} ${JSON.stringify(params)}`
        if (!this.faults.includes(fault)) this.faults.push(fault)
      }
    }
  }

  #find(method: string, path: string): Operation | undefined {
    const segments = path.split('/')
    const fits = (pattern: string) => {
      const parts = pattern.split('/')
      return (
        parts.length === segments.length &&
        parts.every((part, at) => part.startsWith('{') || part === segments[at])
      )
    }
    // A literal path before one with parameters.
    const patterns = Object.keys(this.#document.paths).filter(fits)
    const literal = (pattern: string) => pattern.split('{').length
    const [best] = patterns.sort((a, b) => literal(a) - literal(b))
    return best === undefined ? undefined : this.#document.paths[best]?.[method.toLowerCase()]
  }
}

/** Objects have no members but those that are named, so that none is forgotten. */
function closedSchema(schema: Json): Json {
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([name, one]) => [name, close(one)] as const)
    const closed = Object.fromEntries(entries) as Record<string, unknown>
    const isObject = closed.type === 'object' && closed.properties !== undefined
    return isObject ? { additionalProperties: false, ...closed } : closed
  }
  return close(schema) as Json
}

/** Passes requests on to `url`, and tells `answers` what came back. */
export async function startRecorder(url: string, answers: DescribedAnswers) {
  const { hostname, port } = new URL(url)
  const server = createServer((request, response) => {
    const { method = 'GET', url: path = '/', headers } = request
    const passed = httpRequest({ host: hostname, port, method, path, headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        const status = answer.statusCode ?? 0
        const body = Buffer.concat(chunks)
        answers.check(method, path, status, answer.headers['content-type'] ?? '', body.toString())
      })
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${own}`, close }
}
