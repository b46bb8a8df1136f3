/** What Node has of WebAssembly and `@types/node` leaves to the DOM's types; only what we use. */
interface WebAssemblyMemory {
  readonly buffer: SharedArrayBuffer
  grow(pages: number): number
}

declare const WebAssembly: {
  readonly Memory: new (options: {
    initial: number
    maximum: number
    shared: true
  }) => WebAssemblyMemory
  readonly Module: new (code: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: Record<string, unknown> }
}
