import { SMTPServer, type SMTPServerAddress } from 'smtp-server'
import { until } from './until.ts'

export type ReceivedMail = { to: string; subject: string; text: string; raw: string }

type Refusal = { code: number; text: string }

/**
 * A mail server on loopback that stores received e-mails. While `failing`, it temporarily rejects
 * all e-mails. `refusals` lists refused senders and recipients by address prefix. `held` delays the
 * reply to each e-mail until the promise resolves.
 */
export async function startSmtp() {
  const mails: ReceivedMail[] = []
  const refusals = new Map<string, Refusal>()
  const state = { failing: false, connections: 0, held: null as Promise<void> | null }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onConnect(_session, done) {
      state.connections++
      done()
    },
    onMailFrom: checkAddress,
    onRcptTo: checkAddress,
    onData(stream, session, done) {
      let raw = ''
      stream.on('data', (chunk) => {
        raw += chunk.toString()
      })
      stream.on('end', async () => {
        await state.held
        mails.push(read(raw, session.envelope.rcptTo.map(({ address }) => address).join()))
        done()
      })
    },
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.server.address() as { port: number }
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refusals,
    state,
    next,
    [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())),
  }

  function checkAddress(
    { address }: SMTPServerAddress,
    _session: unknown,
    done: (error?: Error | null) => void,
  ) {
    const refusal = [...refusals].find(([prefix]) => address.startsWith(prefix))?.[1]
    if (state.failing) done(smtpError({ code: 450, text: 'try later' }))
    else done(refusal ? smtpError(refusal) : null)
  }

  /** Waits for an e-mail to `to`, removes it from the list and returns it. */
  function next(to: string): Promise<ReceivedMail> {
    const take = () => {
      const at = mails.findIndex((mail) => mail.to === to)
      return at < 0 ? null : mails.splice(at, 1)[0]
    }
    return until(take, `no e-mail to ${to} arrived`)
  }
}

function smtpError({ code, text }: Refusal): Error {
  return Object.assign(new Error(text), { responseCode: code })
}

/** The token in the link of an e-mail. */
export function tokenIn({ text }: ReceivedMail): string {
  const token = /[?&]token=([\w-]+)/.exec(text)?.[1]
  if (!token) throw new Error('the e-mail has no link')
  return token
}

function read(raw: string, to: string): ReceivedMail {
  const subject = /^Subject: (.*(?:\r?\n[ \t].*)*)/m.exec(raw)?.[1] ?? ''
  return { to, subject, text: decode(raw), raw }
}

/** Decodes quoted-printable text, as far as the tests need it. */
function decode(raw: string): string {
  return raw
    .replace(/=\r?\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (bytes) =>
      Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'),
    )
}
