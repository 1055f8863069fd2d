import { Elysia } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import { allow, CONSOLE_API } from '../../../platform/http/console-guard.ts'
import { closedObject, data } from '../../../platform/http/replies/envelope.ts'
import { rawReply } from '../../../platform/http/replies/raw-reply.ts'
import { PUBLICATION_LIMIT } from '../../../platform/publications/actions.ts'
import { publicationViews } from '../../../platform/publications/views.ts'
import { SampleFields } from './actions.ts'
import builtIn from './built-in-emails.json' with { type: 'json' }
import type { PublishedEmails } from './emails.ts'
import { Emails } from './model.ts'

/** The preview fills this page. No script runs in it, and it may load the logo. */
const EMPTY_PAGE = '<!doctype html><title>Preview</title>'
const PREVIEW_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; img-src https:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

export function emailsConsole({ emails }: { emails: PublishedEmails }) {
  return new Elysia({ name: 'emails-console' })
    .use(publicationViews('emails', Emails, emails))
    .get(`${CONSOLE_API}/emails/built-in`, () => data(builtIn), allow('reader'))
    .get(
      `${CONSOLE_API}/preview/emails/page`,
      ({ set }) =>
        rawReply(set, EMPTY_PAGE, {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': PREVIEW_CSP,
        }),
      allow('reader'),
    )
    .post(`${CONSOLE_API}/preview/emails`, async ({ body }) => data(await emails.preview(body)), {
      ...json(closedObject(SampleFields), PUBLICATION_LIMIT),
      ...allow('reader'),
    })
}
