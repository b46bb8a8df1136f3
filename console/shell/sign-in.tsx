import { useSignal } from '@preact/signals'
import { ApiError, call, failureText } from '../base/api.ts'
import { signedOutBecause, signIn } from '../base/session.ts'
import { Failure } from '../parts/failure.tsx'
import { TextField } from '../parts/form.tsx'

/** Asks for an access token, and tries it before it is taken. */
export function SignIn() {
  const text = useSignal('')
  const isBusy = useSignal(false)
  const failure = useSignal(signedOutBecause.value)
  const submit = async (event: Event) => {
    event.preventDefault()
    const typed = text.value.trim()
    isBusy.value = true
    try {
      await tryToken(typed)
      signIn(typed)
    } catch (cause) {
      failure.value = failureText(cause)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>Sluice</h1>
        <TextField
          label="Access token"
          type="password"
          value={text.value}
          onInput={(value) => {
            text.value = value
          }}
          placeholder="lap_…"
          required
          autoFocus
          hint={
            <>
              The first admin token is in the file <code>admin-token</code> of the data directory:{' '}
              <code>cat data/admin-token</code>. It is kept in this tab only.
            </>
          }
        />
        {failure.value !== undefined && <Failure text={failure.value} />}
        <button type="submit" class="primary" disabled={isBusy.value || text.value.trim() === ''}>
          {isBusy.value ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}

/** Throws unless the service takes the token; one without the scope for streams is valid, too. */
async function tryToken(text: string): Promise<void> {
  if (!/^lap_\w+$/.test(text)) {
    const isKey = text.startsWith('lax_')
    throw new Error(
      isKey
        ? 'This is an API key (lax_…), which can only send events. An access token begins with lap_.'
        : 'An access token begins with lap_.',
    )
  }
  try {
    await call('streams', { query: { limit: 1 }, token: text })
  } catch (cause) {
    const status = cause instanceof ApiError ? cause.status : 0
    if (status === 401) throw new Error('The service does not know this token.')
    if (status !== 403) throw cause
  }
}
