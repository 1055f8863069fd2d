/** The signatures of Credential Manager 1.5 that docs/client-kotlin.md uses, from its reference. */
package androidx.credentials

import android.content.Context
import android.os.Bundle

abstract class CredentialOption

class GetPublicKeyCredentialOption(requestJson: String) : CredentialOption()

class GetCredentialRequest(options: List<CredentialOption>)

class GetCredentialResponse(val credential: Credential)

abstract class Credential {
    abstract val data: Bundle
}

abstract class PublicKeyCredential : Credential() {
    abstract val authenticationResponseJson: String
}

abstract class CreateCredentialRequest

abstract class CreateCredentialResponse

class CreatePublicKeyCredentialRequest(requestJson: String) : CreateCredentialRequest()

abstract class CreatePublicKeyCredentialResponse : CreateCredentialResponse() {
    abstract val registrationResponseJson: String
}

interface CredentialManager {
    suspend fun getCredential(context: Context, request: GetCredentialRequest): GetCredentialResponse
    suspend fun createCredential(context: Context, request: CreateCredentialRequest): CreateCredentialResponse

    companion object {
        fun create(context: Context): CredentialManager = TODO()
    }
}
