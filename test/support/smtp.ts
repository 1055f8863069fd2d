import { SMTPServer } from 'smtp-server'

export type Received = { to: string; subject: string; text: string; raw: string }

/** A mail server on loopback. It keeps what it gets; `fail` makes it refuse for a while. */
export async function startSmtp() {
  const mails: Received[] = []
  const state = { failing: false }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, done) {
      done(state.failing ? new Error('try later') : null)
    },
    onData(stream, session, done) {
      let raw = ''
      stream.on('data', (chunk) => {
        raw += chunk.toString()
      })
      stream.on('end', () => {
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
    state,
    next,
    [Symbol.asyncDispose]: () => new Promise<void>((done) => server.close(() => done())),
  }

  /** Waits for a mail to `to`, takes it out and returns it. */
  async function next(to: string): Promise<Received> {
    for (let tries = 0; tries < 200; tries++) {
      const at = mails.findIndex((mail) => mail.to === to)
      if (at >= 0) return mails.splice(at, 1)[0] as Received
      await Bun.sleep(10)
    }
    throw new Error(`no mail came to ${to}`)
  }
}

/** The token in the link of a mail. */
export function tokenIn({ text }: Received): string {
  const token = /[?&]token=([\w-]+)/.exec(text)?.[1]
  if (!token) throw new Error('the mail has no link')
  return token
}

function read(raw: string, to: string): Received {
  const subject = /^Subject: (.*(?:\r?\n[ \t].*)*)/m.exec(raw)?.[1] ?? ''
  return { to, subject, text: decode(raw), raw }
}

/** Quoted-printable, as far as links and words need it. */
function decode(raw: string): string {
  return raw
    .replace(/=\r?\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (bytes) =>
      Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'),
    )
}
