/** The texts of the pages, in the languages of the e-mails. */
const ENGLISH = {
  verify: { title: 'Confirm your e-mail address', button: 'Confirm' },
  cancel: { title: 'Cancel the change of your e-mail address', button: 'Cancel the change' },
  reset: { title: 'Choose a new password', button: 'Set the password' },
  delete: { title: 'Delete your account', button: 'Delete everything' },
  deleteWarning:
    'Your profile, files and sessions will be deleted immediately and cannot be restored.',
  email: 'E-mail address',
  password: 'Password',
  newPassword: 'New password',
  code: 'Two-factor code, if two-factor is on',
  verified: 'The address is confirmed. You can go back to the app.',
  cancelled: 'The address is unchanged. Choose a new password: someone else knows yours.',
  wasReset: 'The new password is set. You can now sign in with it in the app.',
  deleted: 'Your account and everything in it have been deleted.',
  goesOn: 'The store goes on charging until you cancel where you bought it:',
}
export type PageTexts = typeof ENGLISH

const GERMAN: PageTexts = {
  verify: { title: 'Bestätige deine E-Mail-Adresse', button: 'Bestätigen' },
  cancel: { title: 'Änderung deiner E-Mail-Adresse abbrechen', button: 'Änderung abbrechen' },
  reset: { title: 'Wähle ein neues Passwort', button: 'Passwort festlegen' },
  delete: { title: 'Lösche dein Konto', button: 'Alles löschen' },
  deleteWarning:
    'Dein Profil, deine Dateien und deine Anmeldungen werden sofort gelöscht. Das lässt sich nicht rückgängig machen.',
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  code: 'Code, falls du dich in zwei Schritten anmeldest',
  verified: 'Die Adresse ist bestätigt. Du kannst zur App zurückkehren.',
  cancelled: 'Die Adresse bleibt, wie sie ist. Wähle ein neues Passwort: Jemand kennt deines.',
  wasReset: 'Das Passwort ist festgelegt. Melde dich damit in der App an.',
  deleted: 'Dein Konto und alles darin ist gelöscht.',
  goesOn: 'Der Store berechnet weiter, bis du dort kündigst, wo du gekauft hast:',
}

/** The texts in a language, else in English. */
export function pageTexts(language: string): PageTexts {
  return language === 'de' ? GERMAN : ENGLISH
}
