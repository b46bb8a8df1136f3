/** What we use of ua-parser-js 1.x, which has no types of its own. */
declare module 'ua-parser-js' {
  interface Named {
    readonly name?: string | undefined
    readonly version?: string | undefined
  }
  interface Device {
    readonly model?: string | undefined
    readonly vendor?: string | undefined
    readonly type?: string | undefined
  }
  export default class UAParser {
    constructor(userAgent: string)
    getBrowser(): Named
    getOS(): Named
    getDevice(): Device
  }
}
