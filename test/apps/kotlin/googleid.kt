package com.google.android.libraries.identity.googleid

import android.os.Bundle
import androidx.credentials.CredentialOption

abstract class GetGoogleIdOption : CredentialOption() {
    class Builder {
        fun setServerClientId(id: String): Builder = TODO()
        fun setNonce(nonce: String?): Builder = TODO()
        fun setFilterByAuthorizedAccounts(filter: Boolean): Builder = TODO()
        fun build(): GetGoogleIdOption = TODO()
    }
}

class GoogleIdTokenCredential(val idToken: String) {
    companion object {
        fun createFrom(data: Bundle): GoogleIdTokenCredential = TODO()
    }
}
