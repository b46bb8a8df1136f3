import { ownToken, type Scope } from '../base/rights.ts'
import { signOut } from '../base/sign-in.ts'

/** In place of a screen that the token may not see: what it may, and what is missing. */
export function Lacking({ scope, what }: { scope: Scope; what: string }) {
  return (
    <section class="card">
      <h1>This token cannot {what}</h1>
      <p>
        That needs a token with the scope <code>{scope}</code>. This one has{' '}
        {ownToken.value?.scopes.map((one, index) => (
          <span key={one}>
            {index > 0 && ', '}
            <code>{one}</code>
          </span>
        ))}
        .
      </p>
      <button type="button" onClick={() => void signOut()}>
        Sign in with another token
      </button>
    </section>
  )
}
