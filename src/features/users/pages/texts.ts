/** In the languages of the e-mails. */
const ENGLISH = {
  verify: { title: 'Confirm your e-mail address', button: 'Confirm' },
  cancel: { title: 'Cancel the change of your e-mail address', button: 'Cancel the change' },
  reset: { title: 'Choose a new password', button: 'Set the password' },
  invitation: {
    title: 'You are invited',
    text: 'Create your account in the app, with the address that this invitation was sent to.',
    button: 'Open the app',
  },
  delete: { title: 'Delete your account', button: 'Delete everything' },
  deleteWarning:
    'Your profile, files and sessions will be deleted immediately and cannot be restored.',
  kept: 'Records of your purchases stay without your name and address: they belong to our accounts. Our logs keep your account number, but no name or address, for up to {audit} days. Backups contain your data until they are replaced, after about {backups} days.',
  otherWays:
    'No password? Leave it empty and request a code by e-mail. If your account has no e-mail address, delete it in the app.',
  sendCode: 'E-mail me a code',
  codeSent:
    'If there is an account with this address, a code is on its way. It works for 10 minutes.',
  emailCode: 'Code from the e-mail',
  email: 'E-mail address',
  password: 'Password',
  newPassword: 'New password',
  code: 'Two-factor code, if two-factor is on',
  verified: 'The address has been confirmed. You can go back to the app.',
  alreadyVerified: 'The address is already confirmed. You can go back to the app.',
  cancelled: 'The address is unchanged. Choose a new password: someone else knows yours.',
  wasReset: 'The new password is set. You can now sign in with it in the app.',
  deleted: 'Your account and everything in it have been deleted.',
  goesOn: 'The store keeps charging until you cancel where you bought it:',
}
export type PageTexts = typeof ENGLISH

const GERMAN: PageTexts = {
  verify: { title: 'Bestätige deine E-Mail-Adresse', button: 'Bestätigen' },
  cancel: { title: 'Änderung deiner E-Mail-Adresse abbrechen', button: 'Änderung abbrechen' },
  reset: { title: 'Wähle ein neues Passwort', button: 'Passwort festlegen' },
  invitation: {
    title: 'Du bist eingeladen',
    text: 'Lege dein Konto in der App an, mit der Adresse, an die diese Einladung ging.',
    button: 'App öffnen',
  },
  delete: { title: 'Lösche dein Konto', button: 'Alles löschen' },
  deleteWarning:
    'Dein Profil, deine Dateien und deine Anmeldungen werden sofort gelöscht. Das lässt sich nicht rückgängig machen.',
  kept: 'Belege deiner Käufe bleiben ohne Namen und Adresse: Sie gehören zu unserer Buchführung. Unsere Protokolle behalten die Nummer deines Kontos, aber weder Namen noch Adresse, höchstens {audit} Tage. Sicherungskopien enthalten deine Daten, bis sie nach etwa {backups} Tagen ersetzt sind.',
  otherWays:
    'Du hast kein Passwort? Lass es leer und fordere einen Code per E-Mail an. Hat dein Konto keine E-Mail-Adresse, lösche es in der App.',
  sendCode: 'Code per E-Mail senden',
  codeSent: 'Wenn es zu dieser Adresse ein Konto gibt, ist ein Code unterwegs. Er gilt 10 Minuten.',
  emailCode: 'Code aus der E-Mail',
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  code: 'Code, falls du dich in zwei Schritten anmeldest',
  verified: 'Die Adresse ist bestätigt. Du kannst zur App zurückkehren.',
  alreadyVerified: 'Die Adresse ist schon bestätigt. Du kannst zur App zurückkehren.',
  cancelled: 'Die Adresse bleibt, wie sie ist. Wähle ein neues Passwort: Jemand kennt deines.',
  wasReset: 'Das Passwort ist festgelegt. Melde dich damit in der App an.',
  deleted: 'Dein Konto und alles darin ist gelöscht.',
  goesOn: 'Der Store berechnet weiter, bis du dort kündigst, wo du gekauft hast:',
}

/** English is the fallback. */
export function pageTexts(language: string): PageTexts {
  return language === 'de' ? GERMAN : ENGLISH
}
