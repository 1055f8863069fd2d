import { parseMailbox, trimAddress } from '../../lib/text/email-address.ts'
import { choice, flag, setting, text, value } from '../setting.ts'
import { appLink, mailUrl } from '../values.ts'

export const ONE_LINE = /^[^\p{C}]{1,100}$/u

export const appSettings = {
  appName: setting(
    'APP_NAME',
    text('a name on a single line', ONE_LINE),
    'the app’s name in e-mails, pages and authenticator apps',
    { shown: '`TOKEN_AUDIENCE`' },
  ),
  appLinkUrl: setting(
    'APP_LINK_URL',
    value('a link such as myapp://auth', appLink),
    'the base of the app’s deep links in e-mails: `myapp://auth`',
    { page: 'sign-in.md' },
  ),
  smtpUrl: setting(
    'SMTP_URL',
    value('a URL such as smtp://user:password@host:587', mailUrl),
    'the mail server; without one, e-mails are written to `DATA_DIR/outbox`',
    { page: 'deployment.md#e-mail' },
  ),
  mailFrom: setting(
    'MAIL_FROM',
    text('an address such as App <app@example.com>', /^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/),
    'the sender of e-mails: `App <app@example.com>`',
  ),
  alertEmail: setting(
    'ALERT_EMAIL',
    value(
      'an address such as ops@example.com',
      (given) => parseMailbox(trimAddress(given)) ?? undefined,
    ),
    'the operators’ e-mail address for alerts',
    { page: 'monitoring.md#alerts' },
  ),
  tokenIssuer: setting('TOKEN_ISSUER', text('a name or URL'), 'the issuer of access tokens', {
    shown: '`BASE_URL`, or `homeport`',
  }),
  tokenAudience: setting(
    'TOKEN_AUDIENCE',
    value('a name or URL', (given) => given, 'homeport'),
    'the audience of access tokens',
  ),
  clientPackage: setting(
    'CLIENT_PACKAGE',
    flag(true),
    '`off` does not serve the client package at `/client.tgz`',
    { page: 'client.md#install' },
  ),
  payloadEncryption: setting(
    'PAYLOAD_ENCRYPTION',
    choice(['optional', 'required'], 'optional'),
    '`required` refuses unsealed requests',
    { page: 'payload-encryption.md' },
  ),
}
