// The signatures of AuthenticationServices that docs/client-swift.md uses, from Apple's reference.
@_exported import Foundation
import SwiftUI

open class ASAuthorizationRequest: NSObject {}

public final class ASAuthorizationPlatformPublicKeyCredentialProvider: NSObject {
    public init(relyingPartyIdentifier: String) {}
    public func createCredentialAssertionRequest(challenge: Data) -> ASAuthorizationRequest { fatalError() }
    public func createCredentialRegistrationRequest(
        challenge: Data, name: String, userID: Data
    ) -> ASAuthorizationRequest { fatalError() }
}

public final class ASAuthorizationPlatformPublicKeyCredentialAssertion: NSObject {
    public var credentialID: Data { fatalError() }
    public var rawClientDataJSON: Data { fatalError() }
    public var rawAuthenticatorData: Data! { fatalError() }
    public var signature: Data! { fatalError() }
    public var userID: Data! { fatalError() }
}

public final class ASAuthorizationPlatformPublicKeyCredentialRegistration: NSObject {
    public var credentialID: Data { fatalError() }
    public var rawClientDataJSON: Data { fatalError() }
    public var rawAttestationObject: Data? { fatalError() }
}

public final class ASAuthorizationAppleIDRequest: ASAuthorizationRequest {
    public struct Scope: Sendable {
        public static var fullName: Scope { fatalError() }
        public static var email: Scope { fatalError() }
    }

    public var requestedScopes: [Scope]?
    public var nonce: String?
}

public final class ASAuthorizationAppleIDProvider: NSObject {
    public func createRequest() -> ASAuthorizationAppleIDRequest { fatalError() }
}

public final class ASAuthorizationAppleIDCredential: NSObject {
    public var identityToken: Data? { fatalError() }
    public var authorizationCode: Data? { fatalError() }
    public var fullName: PersonNameComponents? { fatalError() }
}

public enum ASAuthorizationResult {
    case appleID(ASAuthorizationAppleIDCredential)
    case passkeyAssertion(ASAuthorizationPlatformPublicKeyCredentialAssertion)
    case passkeyRegistration(ASAuthorizationPlatformPublicKeyCredentialRegistration)
}

@MainActor
public struct AuthorizationController {
    public func performRequest(_ request: ASAuthorizationRequest) async throws -> ASAuthorizationResult { fatalError() }
}

extension PersonNameComponents {
    /// Foundation for Linux lacks it.
    public func formatted() -> String { fatalError() }
}
