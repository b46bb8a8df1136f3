/** The part of the composition root that builds the console and signs its first user in. */
import { fileURLToPath } from 'node:url'
import { readConsoleFiles } from '../console/console-files.ts'
import { consoleRoutes } from '../console/console-routes.ts'
import { SignInCodes, signInRoute } from '../console/sign-in.ts'
import type { Route } from '../http/exchange.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import type { BrowserSessions } from './create-sessions.ts'

const FOLDER = fileURLToPath(new URL('../../www/', import.meta.url))

export function createConsole(
  control: ControlStore,
  { sessionStore, cookieName, isTls }: BrowserSessions,
): {
  readonly routes: readonly Route[]
  /** Makes a code that signs in, once. */
  readonly createCode: () => string
} {
  const codes = new SignInCodes()
  const routes = [
    ...consoleRoutes(readConsoleFiles(FOLDER)),
    signInRoute(codes, {
      cookieName,
      isTls,
      createToken: async (token) => {
        const { record, text } = await control.createToken(token)
        return { tokenId: record.tokenId, text }
      },
      beginSession: (tokenId, origin) => sessionStore.create(tokenId, origin),
    }),
  ]
  return { routes, createCode: () => codes.create() }
}
