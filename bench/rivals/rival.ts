/** Another log service as this bench runs it: what it is started with and what is sent to it. */

export interface RivalFiles {
  /** Where its configuration is written. */
  readonly configFile: string
  /** An empty directory for what it stores. */
  readonly dataDirectory: string
}

export interface Rival {
  /** The option that names its binary. */
  readonly name: string
  readonly title: string
  /** What it has done when it answers 2xx. */
  readonly acknowledges: string
  readonly surface: string
  /** Where the surface is posted to; as Sluice has it without. */
  readonly path: string | undefined
  configuration(port: number, files: RivalFiles): string
  args(files: RivalFiles): string[]
  /** What a GET is answered with once it takes events. */
  readonly ready: { readonly path: string; readonly status: number }
}
