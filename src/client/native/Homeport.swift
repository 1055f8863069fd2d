// The client of a Homeport server. Add this file and HomeportModels.swift to the app.
// Swift 5.9 or later, iOS 15 or macOS 12 or later. Other platforms need the package swift-crypto.
import Foundation
#if canImport(CryptoKit)
import CryptoKit
#else
import Crypto
#endif
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Security)
import Security
#endif

// MARK: - Public API

/// The client runs on this actor, one step at a time.
@globalActor
public actor HomeportActor {
    public static let shared = HomeportActor()
}

/// Homeport for an app: a function per endpoint. Each returns the data of the response or throws a `HomeportError`.
/// Every function may throw `network_error`, `timeout`, `aborted` (its task was cancelled), `reply_invalid`,
/// `storage_failed` and `rate_limited`; those for signed-in users may throw `unauthenticated`: `isSignedIn` then says
/// whether the session has ended. Listeners are called on `HomeportActor`, not on the main thread.
@HomeportActor
public final class Homeport {
    /// Seconds until a call fails: `try await Homeport.$timeout.withValue(5) { try await api.readProfile() }`.
    /// `.infinity` for no limit. For an upload: the longest time without progress, per file.
    @TaskLocal public static var timeout: TimeInterval?
    /// The installed app.
    public nonisolated let app: InstalledApp?
    fileprivate let runner: Runner
    fileprivate nonisolated let session: SessionKeeper
    fileprivate let kept: KeptResponses
    fileprivate nonisolated let changeStream: ChangeStream
    fileprivate nonisolated let purchases: PurchaseQueue
    fileprivate let isSealed: Bool
    fileprivate var startingGuest: Task<Session, Error>?

    /// Creates a client for one server. An app needs one, which all its screens share. It continues the session in
    /// `storage`. An invalid `baseUrl`, or `pinnedKeys` without sealing, stops the program.
    /// - Parameters:
    ///   - baseUrl: The server's URL, such as `https://api.example.com`.
    ///   - app: The installed app, for settings that depend on it.
    ///   - env: `test` sends plain JSON; any other value, such as `production`, seals payloads.
    ///   - pinnedKeys: Thumbprints of the server keys to trust, as `homeport keys list` prints them.
    ///   - signingKeys: Thumbprints of the server's signing keys: kept access must be signed with one of them.
    ///   - storage: Where to keep the session; the keychain by default, memory where there is none.
    ///   - offlineStorage: Where to keep responses and purchases; by default a file, or `storage` if it is no keychain.
    ///   - device: A name by which users recognize this device, such as `UIDevice.current.name`.
    ///   - language: Languages as in `Accept-Language`; the device's by default.
    ///   - timeout: Seconds until a call fails with `timeout`. For an upload: without progress, per file.
    ///   - onSignedOut: Called when the server has ended the session.
    ///   - platform: Replaces the clock, the timers and the network in tests.
    public nonisolated init(
        baseUrl: String, app: InstalledApp? = .current, env: String = "test", pinnedKeys: [String]? = nil,
        signingKeys: [String]? = nil, storage: HomeportStorage? = nil, offlineStorage: HomeportStorage? = nil,
        device: String? = nil, language: String? = nil, timeout: TimeInterval = 30,
        onSignedOut: (@Sendable () -> Void)? = nil, platform: HomeportPlatform = .current
    ) {
        let baseUrl = normalizeBaseUrl(baseUrl)
        // Build settings turn an unset variable into one of these words.
        let env = ["", "null", "undefined"].contains(env) ? "test" : env
        precondition(env != "test" || pinnedKeys == nil, "pinnedKeys needs an env that seals, such as production.")
        let storage = storage ?? defaultStorage()
        let offlineStorage = offlineStorage ?? defaultOfflineStorage(for: storage)
        self.app = app
        isSealed = env != "test"
        runner = Runner(platform: platform, timeout: timeout * 1000)
        let sealed = isSealed ? SealedTransport(baseUrl, env, pinnedKeys, runner) : nil
        let context = ContextHeaders(app: app, device: device, language: language)
        let caller = Caller(baseUrl, sealed, context, runner)
        let keptSlot = Slot(storage: offlineStorage, key: "homeport.kept")
        session = SessionKeeper(Slot(storage: storage, key: "homeport.session"), keptSlot, caller)
        kept = KeptResponses(session, signingKeys)
        changeStream = ChangeStream(session)
        purchases = PurchaseQueue(Slot(storage: offlineStorage, key: "homeport.purchases"), session)
        if let onSignedOut { _ = session.listeners.add { if $0.reason == .sessionEnded { onSignedOut() } } }
        _ = session.listeners.add { [weak changeStream, weak purchases] change in
            Task { @HomeportActor [weak changeStream, weak purchases] in
                changeStream?.sessionChanged(change)
                if change.reason == .signedIn { purchases?.resume() }
            }
        }
        Task { @HomeportActor [purchases] in purchases.resume() }
    }

    /// Returns whether a session is stored on this device; the server may already have ended it.
    public func isSignedIn() async throws -> Bool { try session.read() != nil }

    /// Returns an access token for the app's other services, refreshed if necessary. Throws `unauthenticated`.
    public func accessToken() async throws -> String {
        try await perform { _ in try await self.session.readFresh().accessToken }
    }

    /// Calls `listener` whenever the session changes. Returns a function that stops it.
    @discardableResult
    public nonisolated func onAuthChange(_ listener: @escaping @Sendable (AuthChange) -> Void) -> @Sendable () -> Void {
        let (listeners, id) = (session.listeners, session.listeners.add(listener))
        return { listeners.remove(id) }
    }

    /// The session's changes as a stream; see `onAuthChange`.
    public nonisolated var authChanges: AsyncStream<AuthChange> { stream(onAuthChange) }

    /// Calls `listener` with each kind once at the start, and then whenever something of that kind may have changed on
    /// the server: read it again. Keeps a connection open while a user is signed in. Returns a function that stops it:
    /// call it when the app goes into the background.
    @discardableResult
    public nonisolated func onChange(_ listener: @escaping @Sendable (Change) -> Void) -> @Sendable () -> Void {
        let (changes, id) = (changeStream, changeStream.listeners.add(listener))
        Task { @HomeportActor in changes.added(id) }
        return {
            changes.listeners.remove(id)
            Task { @HomeportActor in changes.removed(id) }
        }
    }

    /// The changes on the server as a stream; see `onChange`.
    public nonisolated var changes: AsyncStream<Change> { stream(onChange) }

    /// Calls `listener` with the final result of each queued purchase. Returns a function that stops it.
    @discardableResult public nonisolated func onPurchaseResult(
        _ listener: @escaping @Sendable (QueuedPurchaseResult) -> Void
    ) -> @Sendable () -> Void {
        let (listeners, id) = (purchases.listeners, purchases.listeners.add(listener))
        return { listeners.remove(id) }
    }

    /// Whether the app must be updated: its version or build is older than the supported one.
    public nonisolated func isUpdateRequired(_ settings: AppSettings) -> Bool {
        guard let app, let versions = settings.versions(of: app) else { return false }
        return app.isOlder(than: versions.supportedVersion, build: versions.supportedBuildNumber)
    }

    /// Whether the store has an update: the app's version or build is older than the latest one.
    public nonisolated func isUpdateAvailable(_ settings: AppSettings) -> Bool {
        guard let app, let versions = settings.versions(of: app) else { return false }
        return app.isOlder(than: versions.latestVersion, build: versions.latestBuildNumber)
    }

    /// The units of a currency, in upper or lower case, for one unit of the base; nil without a rate.
    public nonisolated static func findRate(_ rates: CurrencyRates, currency: String) -> Double? {
        rates.rates[currency.uppercased()]
    }
}

/// The error that every function of the client throws.
public struct HomeportError: LocalizedError, Sendable {
    /// An invalid field: its path in the request, and the rule that it breaks.
    public struct Detail: Codable, Equatable, Sendable {
        public var path: String
        public var message: String
    }

    /// The HTTP status of the response; 0 if there was none.
    public var status = 0
    /// A machine-readable error code; newer servers may return codes that this client does not know.
    public var code: String
    /// In the device's language if the server supports it; in English with status 0.
    public var message: String
    /// The invalid fields, if there are any.
    public var details: [Detail] = []
    /// Identifies the request in the server's log.
    public var requestId: String?
    /// Seconds to wait before trying again, if the server said so.
    public var retryAfter: Int?
    /// Whether the server itself sent the error: in sealed mode an intermediary can send a plain response.
    public var isGenuine = false
    public var cause: (any Error)?
    public var errorDescription: String? { message }
}

/// The installed app, and its device. `buildNumber` is not sent.
public struct InstalledApp: Equatable, Sendable {
    /// `ios`, `android` or `web`.
    public var platform: String
    /// Such as `2.4.0`.
    public var version: String
    /// Distinguishes builds of one version; without it only versions are compared.
    public var buildNumber: Int?
    /// Any text that stays the same on this device; settings with a percentage rollout use it before sign-in.
    public var deviceId: String?

    public init(platform: String = "ios", version: String, buildNumber: Int? = nil, deviceId: String? = nil) {
        (self.platform, self.version, self.buildNumber, self.deviceId) = (platform, version, buildNumber, deviceId)
    }

    /// The app as its Info.plist describes it; nil in a program without one.
    public static var current: InstalledApp? {
        guard let version = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String else { return nil }
        let build = Bundle.main.infoDictionary?["CFBundleVersion"] as? String
        return InstalledApp(version: version, buildNumber: build.flatMap { Int($0) })
    }

    /// A version that cannot be parsed must not lock users out.
    fileprivate func isOlder(than limit: String, build: Int) -> Bool {
        guard let installed = parseVersion(version), let wanted = parseVersion(limit) else { return false }
        for at in 0..<max(installed.count, wanted.count) {
            let (left, right) = (at < installed.count ? installed[at] : 0, at < wanted.count ? wanted[at] : 0)
            if left != right { return left < right }
        }
        return buildNumber.map { $0 < build } ?? false
    }
}

/// The leading numbers between the dots: a suffix such as `-beta.1` or `(231)` does not count.
private func parseVersion(_ version: String) -> [Double]? {
    guard let found = version.range(of: #"^\s*[vV]?[0-9]+(\.[0-9]+)*"#, options: .regularExpression) else { return nil }
    return version[found].drop { !$0.isNumber }.split(separator: ".").compactMap { Double($0) }
}

extension AppSettings {
    /// A web app is never too old: reloading updates it.
    fileprivate func versions(of app: InstalledApp) -> AppVersions? {
        app.platform == "ios" ? ios : app.platform == "android" ? android : nil
    }
}

/// Why the session changed. `sessionEnded`: the server has ended it.
public enum AuthChangeReason: String, Sendable {
    case signedIn = "signed_in"
    case refreshed
    case signedOut = "signed_out"
    case accountDeleted = "account_deleted"
    case sessionEnded = "session_ended"
}

/// A change to the session.
public struct AuthChange: Equatable, Sendable {
    public var reason: AuthChangeReason
    /// Whether a session is kept on this device now.
    public var isSignedIn: Bool
    /// The id of the user who is signed in now; nil if there is no session.
    public var userId: String?
}

/// What has changed: `subscription`, `profile`, `data` or `settings`; newer servers may send other kinds.
public struct Change: Equatable, Sendable { public var kind: String }

/// A sentence to show to the user.
public struct Message: Codable, Equatable, Sendable { public var message: String }

// MARK: - Sign-in

/// A session, or a challenge if two-factor is on: pass its token to `passTwoFactor`.
public enum SignInResult: Equatable, Sendable {
    case session(Session)
    case twoFactor(TwoFactorChallenge)
}

extension Homeport {
    /// Creates an account and signs in; a guest becomes that account. Throws `email_taken`, `validation_failed`,
    /// `session_ended` if the guest's session cannot be refreshed, `token_lost`.
    @discardableResult public func register(
        email: String, password: String, name: String? = nil, invitation: String? = nil
    ) async throws -> Session {
        let account = NewAccount(email: trimmed(email), password: password, name: name, invitation: invitation)
        return try await signInWithGuest("/api/auth/register/v1", account, keepsGuestId: true).asSession()
    }

    /// Signs in, or returns a challenge if two-factor is on; a guest's data moves to the account. Throws
    /// `invalid_credentials`, and `session_ended` as `register` does.
    public func login(email: String, password: String) async throws -> SignInResult {
        let credentials = Credentials(email: trimmed(email), password: password)
        return try await signInWithGuest("/api/auth/login/v1", credentials, guestsOnly: true)
    }

    /// Completes a two-factor sign-in. `code`: from the authenticator app, or a recovery code. Throws
    /// `invalid_credentials`.
    @discardableResult public func passTwoFactor(challengeToken: String, code: String) async throws -> Session {
        let answer = ["challengeToken": challengeToken, "code": code]
        // The challenge remembers the guest of the first step.
        return try await perform { deadline in
            try await self.signIn("/api/auth/login/v1/two_factor", token: nil, answer, deadline)
        }.asSession()
    }

    /// Signs in with Google, Apple or the server's OpenID Connect provider; a guest becomes that account, or the
    /// guest's data moves to an existing account. Throws `unauthenticated`, and `session_ended` as `register` does.
    public func signInSocially(_ login: SocialLogin) async throws -> SignInResult {
        try await signInWithGuest("/api/auth/social/v1", login)
    }

    /// Sends a six-digit code by e-mail. Keep `requestToken` until the user has entered the code.
    public func requestEmailCode(email: String) async throws -> EmailCodeRequest {
        try await withoutToken("POST", "/api/auth/email_code/v1", json: ["email": trimmed(email)])
    }

    /// Signs in with the code from the e-mail, on the device that requested it; creates the account if there is none.
    /// A guest becomes that account, or the guest's data moves to an existing account. Throws `invalid_credentials`,
    /// and `session_ended` as `register` does.
    public func signInWithEmailCode(
        requestToken: String, code: String, name: String? = nil
    ) async throws -> SignInResult {
        let answer = EmailCodeAnswer(requestToken: requestToken, code: code, name: name)
        return try await signInWithGuest("/api/auth/email_code/v1/verify", answer)
    }

    /// Returns the options for signing in with any passkey of the app, as JSON.
    public func startPasskeySignIn() async throws -> String {
        try await withoutToken("POST", "\(passkeyPath)/sign_in/options", as: JSONValue.self).text()
    }

    /// Signs in with a passkey; no two-factor code is needed. A guest's data moves to the account. `credential`: JSON,
    /// as the browser's `credential.toJSON()`. Throws `invalid_credentials`, and `session_ended` as `register` does.
    @discardableResult public func signInWithPasskey(credential: String) async throws -> Session {
        let login = ["credential": try JSONValue(text: credential)]
        return try await signInWithGuest("\(passkeyPath)/sign_in", login, guestsOnly: true).asSession()
    }

    /// Signs in without credentials, or returns the current guest. Throws `conflict` if a user is signed in. Any later
    /// sign-in keeps the guest's data.
    @discardableResult public func startAsGuest() async throws -> Session {
        try await perform { _ in
            let starting = self.startingGuest ?? Task {
                defer { self.startingGuest = nil }
                return try await self.startGuest()
            }
            self.startingGuest = starting
            return try await starting.value
        }
    }

    /// Fetches new tokens. The client does this automatically when necessary.
    public func refresh() async throws {
        _ = try await perform { _ in try await self.session.renew(try self.session.read()) }
    }

    /// Ends the session on the server if it can be reached, and always on this device.
    @discardableResult public func logout() async throws -> Message {
        let kept = try? session.read()
        // A storage that fails must not keep the server from ending the session.
        let forgotten = Result { try session.forget(.signedOut) }
        var reply: Message?
        if let kept { reply = try await endSession(of: kept) }
        try forgotten.get()
        return reply ?? Message(message: "Signed out on this device.")
    }

    /// Sends the guest's token, so that the guest's data moves to the account. Tests the token first: if an
    /// intermediary removed it, the server would create a new account. `guestsOnly`: sends no signed-in user's token.
    /// `keepsGuestId`: a session with another id means that an intermediary removed the token.
    private func signInWithGuest(
        _ path: String, _ json: any Encodable & Sendable, guestsOnly: Bool = false, keepsGuestId: Bool = false
    ) async throws -> SignInResult {
        try await perform { deadline in
            let sender = try await self.findSender(guestsOnly, deadline)
            let guest = keepsGuestId && sender?.user.loginType == "guest" ? sender?.user.id : nil
            return try await self.signIn(path, token: sender?.token, json, guest: guest, deadline)
        }
    }

    /// The user on this device, with a valid token; nil if no token should be sent.
    private func findSender(_ guestsOnly: Bool, _ deadline: Deadline) async throws -> (token: String, user: UserRef)? {
        guard let kept = try session.read(), !(guestsOnly && kept.isGuest == false) else { return nil }
        do {
            return try await session.withToken { token in
                let reply = try await self.call("GET", profilePath, token, Call(), deadline)
                return (token, try reply.read() as UserRef)
            }
        } catch {
            guard try isSessionEnded(error) && session.read() == nil else { throw error }
            let message = "The session on this device has ended, so the guest's data cannot move to the account. "
                + "Try again to continue without that data."
            throw HomeportError(status: 401, code: "session_ended", message: message, cause: error)
        }
    }

    /// `guest`: the user that the session must belong to.
    private func signIn(
        _ path: String, token: String?, _ json: (any Encodable & Sendable)?, guest: String? = nil,
        isFirst: Bool = false, _ deadline: Deadline
    ) async throws -> SignInResult {
        try await session.trackSignIn {
            let reply = try await self.call("POST", path, token, Call(json: json), deadline)
            if let challenge = try? reply.read() as TwoFactorChallenge { return .twoFactor(challenge) }
            let tokens = try SessionTokens(reply)
            if let guest, guest != tokens.user.id {
                let message = "The account was created without the guest's data: an intermediary removed the token."
                throw HomeportError(code: "token_lost", message: message)
            }
            let result: Session = try reply.read()
            try self.session.keep(tokens, isFirst: isFirst)
            return .session(result)
        }
    }

    /// Shared by all callers. Keeps an existing guest whose session has not ended, and never replaces a signed-in user.
    private func startGuest() async throws -> Session {
        try await runner.run(timeout: nil) { deadline in
            guard let kept = try self.session.read() else { return try await self.createGuest(deadline) }
            do {
                let user: UserProfile = try await self.session.withToken {
                    try await self.call("GET", profilePath, $0, Call(), deadline)
                }.read()
                guard user.loginType == "guest" else { throw alreadySignedInError() }
                let fresh = try await self.session.readFresh()
                let expiresIn = ((fresh.expiresAt - self.runner.now()) / 1000).rounded(.down)
                return Session(
                    accessToken: fresh.accessToken, refreshToken: fresh.refreshToken, tokenType: "Bearer",
                    expiresIn: Int(exactly: expiresIn) ?? 0, user: user)
            } catch {
                let isGone = try kept.isGuest == true && isSessionEnded(error) && self.session.read() == nil
                guard isGone else { throw error }
                return try await self.createGuest(deadline)
            }
        }
    }

    private func createGuest(_ deadline: Deadline) async throws -> Session {
        try await signIn("/api/auth/guest/v1", token: nil, nil, isFirst: true, deadline).asSession()
    }

    /// Ends a session that this device has already deleted. Returns nil if the outcome is unknown.
    private func endSession(of kept: StoredSession) async throws -> Message? {
        do {
            return try await perform { deadline in
                do {
                    return try await self.call("POST", logoutPath, kept.accessToken, Call(), deadline).read()
                } catch where isTokenRefused(error) {
                    let next = try await self.session.exchangeRefreshToken(kept.refreshToken)
                    return try await self.call("POST", logoutPath, next.accessToken, Call(), deadline).read()
                }
            }
        } catch let error as HomeportError where error.code == "aborted" {
            throw error
        } catch {
            return nil
        }
    }
}

extension SignInResult {
    fileprivate func asSession() throws -> Session {
        guard case .session(let session) = self else { throw noSessionError() }
        return session
    }
}

private let profilePath = "/api/user/profile/v1"
private let logoutPath = "/api/auth/logout/v1"
private let passkeyPath = "/api/auth/passkey/v1"

/// Keyboards and clipboards put spaces and invisible characters around an address.
private func trimmed(_ email: String) -> String {
    email.trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
}

// MARK: - Account

/// The response to the deletion of an account.
public struct DeletedAccount: Codable, Equatable, Sendable {
    public var message: String
    /// Subscriptions that continue at their stores; nil if there are none, or if the response was lost.
    public var activeSubscriptions: [ActiveSubscription]?
}

extension Homeport {
    /// Returns the user's passkeys, oldest first.
    public func listPasskeys() async throws -> [Passkey] { try await asUser("GET", passkeyPath) }

    /// Returns the options for creating a passkey, as JSON. Throws `recent_sign_in_required` if no password is given
    /// and the sign-in is more than ten minutes old, `invalid_credentials` if the password is wrong, and
    /// `two_factor_required` without a code if two-factor is on.
    public func startPasskeyRegistration(password: String? = nil, code: String? = nil) async throws -> String {
        let proof = fields(["password": password, "code": code])
        return try await asUser("POST", "\(passkeyPath)/options", json: proof, as: JSONValue.self).text()
    }

    /// Adds a passkey, and turns a guest into an account with this passkey. `credential`: JSON, as the browser's
    /// `credential.toJSON()`. Throws `invalid_credentials`, or `conflict` if the user has too many passkeys.
    @discardableResult public func addPasskey(credential: String, name: String? = nil) async throws -> Passkey {
        var passkey = ["credential": try JSONValue(text: credential)]
        passkey["name"] = name.map { .string($0) }
        return try await asUser("POST", passkeyPath, json: passkey)
    }

    /// Renames a passkey. Throws `not_found`.
    @discardableResult public func renamePasskey(id: String, name: String) async throws -> Passkey {
        try await asUser("PATCH", passkeyPath, json: ["id": id, "name": name])
    }

    /// Removes a passkey and signs out all other devices. Throws `not_found`, `conflict` if it is the only way to sign
    /// in, `two_factor_required` without a code if two-factor is on.
    @discardableResult public func removePasskey(id: String, code: String? = nil) async throws -> Message {
        try await asUser("DELETE", passkeyPath, query: ["id": id, "code": code])
    }

    /// Returns the signed-in devices, most recently used first.
    public func listSessions() async throws -> [Device] { try await asUser("GET", "/api/auth/sessions/v1") }

    /// Signs a device out. `id`: its session id, or `others` for all other devices. Throws `not_found`.
    @discardableResult public func endSession(id: String) async throws -> Message {
        try await asUser("DELETE", "/api/auth/sessions/v1", query: ["id": id])
    }

    /// Changes the password and signs out all other devices. Throws `invalid_credentials`, `validation_failed`,
    /// `two_factor_required` without a code if two-factor is on.
    @discardableResult public func changePassword(
        currentPassword: String, newPassword: String, code: String? = nil
    ) async throws -> Message {
        let passwords = fields(["currentPassword": currentPassword, "newPassword": newPassword, "code": code])
        return try await asUser("PATCH", "/api/auth/password/v1", json: passwords)
    }

    /// Sends an e-mail with a reset link if the account exists.
    @discardableResult public func forgotPassword(email: String) async throws -> Message {
        try await withoutToken("POST", "/api/auth/password/v1/forgot", json: ["email": trimmed(email)])
    }

    /// Sets a password with the token from the reset e-mail and signs out all devices. Throws `unauthenticated` for a
    /// used or expired link.
    @discardableResult public func resetPassword(token: String, newPassword: String) async throws -> Message {
        let reset = ["token": token, "newPassword": newPassword]
        return try await withoutToken("POST", "/api/auth/password/v1/reset", json: reset)
    }

    /// Verifies an e-mail address with the token from the verification e-mail. Throws `unauthenticated` for a used or
    /// expired link.
    @discardableResult public func verifyEmail(token: String) async throws -> Message {
        try await withoutToken("POST", "/api/auth/email/v1/verify", json: ["token": token])
    }

    /// Sends the verification e-mail again. Throws `conflict` if there is nothing to verify.
    @discardableResult public func resendVerification() async throws -> Message {
        try await asUser("POST", "/api/auth/email/v1/resend")
    }

    /// Sends an e-mail to the new address; nothing changes until its link is opened. Throws `email_taken`,
    /// `invalid_credentials`, `recent_sign_in_required` for users without a password, `two_factor_required` without a
    /// code if two-factor is on.
    @discardableResult
    public func changeEmail(password: String? = nil, email: String, code: String? = nil) async throws -> Message {
        let change = fields(["password": password, "email": trimmed(email), "code": code])
        return try await asUser("POST", "/api/auth/email/v1/change", json: change)
    }

    /// Cancels a change of address with the token sent to the old address.
    @discardableResult public func cancelEmailChange(token: String) async throws -> Message {
        try await withoutToken("POST", "/api/auth/email/v1/cancel", json: ["token": token])
    }

    /// Unlinks `google`, `apple` or `oidc`. Throws `conflict` if it is the only way to sign in, `two_factor_required`
    /// without a code if two-factor is on.
    @discardableResult public func unlinkProvider(provider: String, code: String? = nil) async throws -> Message {
        try await asUser("DELETE", "/api/auth/social/v1", query: ["provider": provider, "code": code])
    }

    /// Creates a secret for an authenticator app. Throws `invalid_credentials`, `recent_sign_in_required` for users
    /// without a password, `conflict` if two-factor is on.
    public func setUpTwoFactor(password: String? = nil) async throws -> TwoFactorSetup {
        try await asUser("POST", twoFactorPath, json: fields(["password": password]))
    }

    /// Turns two-factor on with a first code; the same code may be sent again for five minutes. Throws
    /// `invalid_credentials`.
    public func confirmTwoFactor(code: String) async throws -> RecoveryCodes {
        try await asUser("POST", "\(twoFactorPath)/confirm", json: ["code": code])
    }

    /// Replaces the recovery codes. Throws `invalid_credentials`, `conflict` if two-factor is off.
    public func renewRecoveryCodes(password: String? = nil, code: String) async throws -> RecoveryCodes {
        let proof = fields(["password": password, "code": code])
        return try await asUser("POST", "\(twoFactorPath)/recovery_codes", json: proof)
    }

    /// Turns two-factor off. Throws `invalid_credentials`.
    @discardableResult public func disableTwoFactor(password: String? = nil, code: String) async throws -> Message {
        try await asUser("DELETE", twoFactorPath, json: fields(["password": password, "code": code]))
    }

    /// Returns the signed-in user.
    public func readProfile() async throws -> UserProfile { try await asUser("GET", profilePath) }

    /// Changes the fields in `changes` and returns the whole profile. Throws `validation_failed`.
    @discardableResult public func changeProfile(_ changes: ProfileChanges) async throws -> UserProfile {
        try await asUser("PATCH", profilePath, json: changes)
    }

    /// Permanently deletes the account and all its data. Call it again if the response was lost. Stores keep charging
    /// for `activeSubscriptions`: tell the user where to cancel.
    @discardableResult public func deleteProfile() async throws -> DeletedAccount {
        // If the response is lost and the server then refuses the session, the account was deleted, unless the session
        // was refreshed in between.
        let before = try session.read()
        let earlier = session.deletion
        let deleted = DeletedAccount(message: "The account has been deleted.")
        if before == nil && earlier == .refused { return deleted }
        do {
            let reply: DeletedAccount = try await perform { deadline in
                try await self.session.withToken { token in
                    self.session.deletion = .unanswered(token: token)
                    do {
                        return try await self.call("DELETE", profilePath, token, Call(), deadline)
                    } catch let error as HomeportError {
                        // A proxy answers 502 or 504 without knowing whether the server handled the request.
                        if ![0, 502, 504].contains(error.status) { self.session.deletion = earlier }
                        throw error
                    }
                }.read()
            }
            if try session.read()?.userId == before?.userId { try session.forget(.accountDeleted) }
            return reply
        } catch where isSessionEnded(error) && earlier != .none {
            guard earlier == before.map({ .unanswered(token: $0.accessToken) }) else { throw error }
            return deleted
        }
    }

    /// Returns all data that the server stores about the user.
    public func exportData() async throws -> JSONValue { try await asUser("GET", "/api/user/export/v1") }
}

private let twoFactorPath = "/api/auth/two_factor/v1"

// MARK: - Content

/// The name of a value for `readKept`: `.subscription`, `.profile`, `.settings`, `.plans`, `.rates` or `.faqs`.
public struct KeptName<Value: Codable & Sendable>: Sendable {
    fileprivate let name: String
    fileprivate let read: @HomeportActor @Sendable (Homeport, String?) async throws -> Value

    fileprivate init(
        _ name: String, _ read: @escaping @HomeportActor @Sendable (Homeport, String?) async throws -> Value
    ) {
        (self.name, self.read) = (name, read)
    }
}

extension KeptName where Value == Subscription {
    public static var subscription: Self { Self("subscription") { try await $0.readSubscription(lang: $1) } }
}
extension KeptName where Value == UserProfile {
    public static var profile: Self { Self("profile") { api, _ in try await api.readProfile() } }
}
extension KeptName where Value == AppSettings {
    public static var settings: Self { Self("settings") { api, _ in try await api.readAppSettings() } }
}
extension KeptName where Value == [PricingPlan] {
    public static var plans: Self { Self("plans") { try await $0.readPricingPlans(lang: $1) } }
}
extension KeptName where Value == CurrencyRates {
    public static var rates: Self { Self("rates") { api, _ in try await api.readCurrencyRates() } }
}
extension KeptName where Value == [Faq] {
    public static var faqs: Self { Self("faqs") { try await $0.readFaqs(lang: $1) } }
}

/// A response, or the kept copy of the last one.
public struct Kept<Value: Codable & Sendable>: Sendable {
    public var data: Value
    /// Whether the server has not confirmed it since the call.
    public var isStale: Bool
    /// When the server sent it.
    public var asOf: Date
    fileprivate var refreshing: Task<Kept<Value>, Error>?

    /// The server's response. Throws like the function that reads the value, such as `readSubscription`.
    public func refreshed() async throws -> Kept<Value> {
        guard let refreshing else { return self }
        return try await withTaskCancellationHandler { try await refreshing.value } onCancel: { refreshing.cancel() }
    }
}

extension Homeport {
    /// Returns the app's settings; see `isUpdateRequired`.
    public func readAppSettings() async throws -> AppSettings {
        try await perform { deadline in
            // A check for a required update must not wait for a refresh that fails.
            let kept = try? await self.runner.run(timeout: 3_000) { _ in try await self.session.readFresh() }
            return try await self.call("GET", settingsPath, kept?.accessToken, Call(), deadline).read()
        }
    }

    /// Returns the pricing plans on sale. `lang`: a language tag, used instead of the client's language.
    public func readPricingPlans(lang: String? = nil) async throws -> [PricingPlan] {
        try await withoutToken("GET", plansPath, query: ["lang": lang])
    }

    /// Returns the exchange rates; see `findRate`.
    public func readCurrencyRates() async throws -> CurrencyRates { try await withoutToken("GET", ratesPath) }

    /// Returns the version counter of each kind of content.
    public func readContentVersions() async throws -> ContentVersions {
        try await withoutToken("GET", contentVersionPath)
    }

    /// Returns the frequently asked questions. `lang`: a language tag, used instead of the client's language.
    public func readFaqs(lang: String? = nil) async throws -> [Faq] {
        try await withoutToken("GET", faqsPath, query: ["lang": lang])
    }

    /// Returns the kept response immediately if there is one, and refreshes it; otherwise waits for the server. A kept
    /// subscription gives access until it ends; setting the device's clock back does not prolong it.
    public func readKept<Value>(_ name: KeptName<Value>, lang: String? = nil) async throws -> Kept<Value> {
        let refresh: @HomeportActor @Sendable () async throws -> Kept<Value> = {
            let userId = self.kept.userId()
            let data = try await name.read(self, lang)
            let asOf = self.kept.load(userId).entries[name.name]?.asOf ?? self.runner.now()
            return Kept(data: data, isStale: false, asOf: Date(milliseconds: asOf))
        }
        guard let (data, asOf) = kept.find(name.name, lang, as: Value.self) else { return try await refresh() }
        return Kept(data: data, isStale: true, asOf: asOf, refreshing: Task { try await refresh() })
    }
}

private let settingsPath = "/api/user/app_settings/v1"
private let plansPath = "/api/user/pricing_plans/v1"
private let ratesPath = "/api/user/currency_rates/v1"
private let contentVersionPath = "/api/user/content_version/v1"
private let faqsPath = "/api/user/faqs/v1"

// MARK: - Attachments

/// A file to upload, of up to 25 MiB.
public struct UploadFile: Sendable {
    fileprivate enum Source { case file(URL), data(Data) }
    fileprivate let name: String
    fileprivate let type: String
    fileprivate let source: Source

    /// A file on the device. `name`: its own by default. `type`: its media type.
    public init(url: URL, name: String? = nil, type: String? = nil) {
        self.init(name: name ?? url.lastPathComponent, type: type, source: .file(url))
    }

    /// Bytes in memory. `type`: their media type.
    public init(data: Data, name: String, type: String? = nil) {
        self.init(name: name, type: type, source: .data(data))
    }

    private init(name: String, type: String?, source: Source) {
        (self.name, self.source) = (name, source)
        self.type = type.flatMap { $0.isEmpty ? nil : $0 } ?? "application/octet-stream"
    }
}

/// How much of an upload has been sent, in bytes.
public struct UploadProgress: Equatable, Sendable {
    public var sent: Int
    public var total: Int
}

/// A page of files, newest first.
public struct AttachmentPage: Codable, Equatable, Sendable {
    public var attachments: [ListedAttachment]
    /// Pass it as `after` to get the next page; nil on the last page.
    public var next: String?
}

extension Homeport {
    /// Uploads 1 to 10 files. Throws `unsupported_media_type`, `payload_too_large`, `quota_exceeded`,
    /// `image_unreadable`, `image_too_large`, `insufficient_storage`, `file_unreadable`.
    /// - Parameters:
    ///   - type: `supportTicket` is private, with signed URLs; `publicAsset` is an image that anyone can open.
    ///   - compression: Re-encodes images to make them smaller.
    ///   - targetType: The format to convert images to: `jpg`, `jpeg`, `png` or `webp`.
    ///   - idempotencyKey: Retrying an upload with the same key stores nothing twice.
    ///   - onProgress: Called as bytes are sent.
    @discardableResult public func uploadAttachments(
        type: String, files: [UploadFile], compression: Bool? = nil, targetType: String? = nil,
        idempotencyKey: String? = nil,
        onProgress: @escaping @Sendable (UploadProgress) -> Void = { _ in }
    ) async throws -> [Attachment] {
        // The server processes the files after the last one has arrived.
        let longest = (Self.timeout.map { $0 * 1000 } ?? runner.timeout) * Double(max(files.count, 1))
        let isSealed = isSealed
        return try await runner.run(timeout: longest) { deadline in
            let sender = try self.session.read()?.userId
            // Detached: with "Approachable Concurrency", it would run on this actor.
            let form = try await Task.detached { try await encodeForm(files, inMemory: isSealed) }.value
            defer { form.remove() }
            // Reading the files may have taken long enough for another user to sign in.
            guard try self.session.read()?.userId == sender else { throw userChangedError() }
            let compression = compression.map { "\($0)" }
            var content = Call(query: ["type": type, "compression": compression, "targetType": targetType])
            content.form = form
            content.headers = ["idempotency-key": idempotencyKey ?? randomHex()]
            content.onProgress = onProgress
            return try await self.session.withToken { [content] in
                try await self.call("POST", attachmentsPath, $0, content, deadline)
            }.read()
        }
    }

    /// Returns a page of the user's files, newest first. `limit`: up to 100, 50 by default. `after`: `next` of the
    /// previous page.
    public func listAttachments(limit: Int? = nil, after: String? = nil) async throws -> AttachmentPage {
        try await perform { deadline in
            let page = Call(query: ["limit": limit.map { "\($0)" }, "after": after])
            let reply = try await self.session.withToken {
                try await self.call("GET", attachmentsPath, $0, page, deadline)
            }
            return AttachmentPage(attachments: try reply.read(), next: reply.next)
        }
    }

    /// Returns a file with a fresh URL. Throws `not_found`.
    public func readAttachment(key: String) async throws -> AttachmentDetails {
        try await asUser("GET", "\(attachmentsPath)/download", query: ["key": key])
    }

    /// Deletes a file. Throws `not_found`.
    @discardableResult public func deleteAttachment(key: String) async throws -> Message {
        try await asUser("DELETE", attachmentsPath, query: ["key": key])
    }
}

private let attachmentsPath = "/api/user/attachments/v1"

/// A form that contains files, in memory or in a temporary file.
private struct Form: Sendable {
    let contentType: String
    let body: HomeportRequest.Body

    func remove() { if case .file(let url) = body { try? FileManager.default.removeItem(at: url) } }
}

/// `multipart/form-data` (RFC 7578). A file is streamed from a copy; sealing needs the bytes.
private nonisolated func encodeForm(_ files: [UploadFile], inMemory: Bool) async throws -> Form {
    let boundary = "homeport-\(randomHex())"
    var bytes = Data()
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent(boundary)
    if !inMemory { _ = FileManager.default.createFile(atPath: copy.path, contents: nil) }
    do {
        let output = inMemory ? nil : try FileHandle(forWritingTo: copy)
        func append(_ data: Data) throws { if let output { try output.write(contentsOf: data) } else { bytes += data } }
        for file in files {
            let disposition = "form-data; name=\"file\"; filename=\"\(quoteFileName(file.name))\""
            let lines = ["--\(boundary)", "Content-Disposition: \(disposition)", "Content-Type: \(file.type)"]
            try append(Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
            do {
                // Mapped: a file on the device is not read into memory.
                if case .data(let data) = file.source { try append(data) }
                if case .file(let url) = file.source { try append(Data(contentsOf: url, options: .mappedIfSafe)) }
            } catch {
                let message = "The file \(file.name) cannot be read."
                throw HomeportError(code: "file_unreadable", message: message, cause: error)
            }
            try append(Data("\r\n".utf8))
        }
        try append(Data("--\(boundary)--\r\n".utf8))
        try output?.close()
    } catch {
        try? FileManager.default.removeItem(at: copy)
        throw error
    }
    return Form(contentType: "multipart/form-data; boundary=\(boundary)", body: inMemory ? .data(bytes) : .file(copy))
}

/// Quoted as in RFC 822: quotes and backslashes are escaped, line breaks become spaces. The server decodes `%25`.
private func quoteFileName(_ name: String) -> String {
    name.replacingOccurrences(of: "%", with: "%25")
        .replacingOccurrences(of: "[\r\n]+", with: " ", options: .regularExpression)
        .replacingOccurrences(of: #"(["\\])"#, with: #"\\$1"#, options: .regularExpression)
}

// MARK: - Data

extension Homeport {
    /// Returns the documents of the app and its servers.
    public func readData() async throws -> UserData { try await asUser("GET", dataPath) }

    /// Stores `data` as the whole document, of up to 64 KiB as JSON. `version`: the version that was read; without it,
    /// the change is always applied. Throws `precondition_failed`, `payload_too_large`.
    @discardableResult
    public func replaceData(_ data: [String: JSONValue], version: String? = nil) async throws -> UserData {
        try await asUser("PUT", dataPath, query: ["version": version], json: data)
    }

    /// Changes members of the document: absent ones stay, `null` removes one (RFC 7396). `version`: the version that
    /// was read; without it, the change is always applied. Throws `precondition_failed`, `payload_too_large`.
    @discardableResult
    public func patchData(_ patch: [String: JSONValue], version: String? = nil) async throws -> UserData {
        try await asUser("PATCH", dataPath, query: ["version": version], json: patch)
    }
}

private let dataPath = "/api/user/data/v1"

// MARK: - Billing

/// The final result of a queued purchase.
public struct QueuedPurchaseResult: Equatable, Sendable {
    public var purchase: SubmittedPurchase
    /// Finish the transaction if `outcome` is `bound` or `known`.
    public var result: PurchaseResult
}

extension Homeport {
    /// Returns the user's purchases and entitlements. For access, check `entitlements`:
    /// `entitlements.contains { $0.id == "pro" && $0.active }`. `environment`: `production` or `sandbox`.
    public func readSubscription(
        environment: String? = nil, proof: Bool? = nil, lang: String? = nil
    ) async throws -> Subscription {
        let view = ["environment": environment, "proof": proof.map { "\($0)" }, "lang": lang]
        return try await asUser("GET", subscriptionPath, query: view)
    }

    /// Returns every limit of the user's plan, and how much of it is used in the current period.
    public func readUsage() async throws -> [LimitUsage] { try await asUser("GET", "/api/user/usage/v1") }

    /// Submits purchases immediately, for example when the user restores them. `takeOver` also moves purchases that
    /// belong to another user: ask the user first. See `queuePurchase` for purchases that must not be lost.
    @discardableResult public func submitPurchases(
        _ purchases: [SubmittedPurchase], takeOver: Bool? = nil, environment: String? = nil
    ) async throws -> SubmittedPurchases {
        let submission = Submission(purchases: purchases, takeOver: takeOver, environment: environment)
        return try await asUser("POST", purchasesPath, json: submission)
    }

    /// Stores a purchase of the signed-in user before it returns, and submits it until its result is final:
    /// `onPurchaseResult` then reports it. Throws `unauthenticated` if no user is signed in.
    public func queuePurchase(_ purchase: SubmittedPurchase) async throws { try purchases.add(purchase) }

    /// Starts the purchase of a plan by card: open `url` in a browser. When the user returns, submit the session id in
    /// the URL's `session_id` with `submitPurchases`.
    public func startCheckout(_ request: CheckoutRequest) async throws -> Checkout {
        try await asUser("POST", "/api/user/checkout/v1", json: request)
    }

    /// Returns the page on which the user changes or cancels a subscription bought by card. Open it immediately.
    public func createPortalLink(_ request: PortalRequest) async throws -> PortalLink {
        try await asUser("POST", "/api/user/billing_portal/v1", json: request)
    }
}

/// A page of the billing portal.
public struct PortalLink: Codable, Equatable, Sendable { public var url: String }

private struct Submission: Encodable, Sendable {
    var purchases: [SubmittedPurchase]
    var takeOver: Bool?
    var environment: String?
}

private let subscriptionPath = "/api/user/subscription/v1"
private let purchasesPath = "/api/user/purchases/v1"

// MARK: - Session keeper

/// The part of a sign-in's or refresh's reply that the session needs.
private struct SessionTokens: Decodable, Sendable {
    var accessToken: String
    var refreshToken: String
    var expiresIn: Double
    var user: UserRef

    init(_ reply: Envelope) throws {
        guard let tokens = try? reply.read() as SessionTokens else { throw noSessionError() }
        self = tokens
    }
}

private struct UserRef: Decodable, Sendable {
    var id: String
    var loginType: String?

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case loginType
    }
}

/// `expiresAt` is in ms.
private struct StoredSession: Codable, Sendable {
    var accessToken: String
    var refreshToken: String
    var expiresAt: Double
    var userId: String?
    var isGuest: Bool?
    /// The guest who has signed in to this account.
    var guestId: String?
    var baseUrl: String?
}

/// Keeps the tokens of a session, and refreshes them once for all concurrent callers.
@HomeportActor
private final class SessionKeeper {
    /// A deletion that got no response. `refused`: the server has since refused its access token.
    enum Deletion: Equatable { case none, unanswered(token: String), refused }

    nonisolated let listeners = Listeners<AuthChange>()
    nonisolated let keptSlot: Slot
    nonisolated let caller: Caller
    var deletion = Deletion.none
    private let slot: Slot
    private var refreshing: Task<StoredSession, Error>?
    private var signIns = 0
    private var waitingForSignIns: [CheckedContinuation<Void, Never>] = []
    /// How long before its expiry an access token is replaced.
    private let expiryMargin = 30_000.0
    /// The server repeats a lost response. The delays outlast the 5 s in which a second use may be another process's.
    private let retryDelays = [500.0, 2_000, 3_000]

    nonisolated init(_ slot: Slot, _ keptSlot: Slot, _ caller: Caller) {
        (self.slot, self.keptSlot, self.caller) = (slot, keptSlot, caller)
    }

    nonisolated var baseUrl: String { caller.baseUrl }
    nonisolated var runner: Runner { caller.runner }

    /// Returns the stored session; nil if no user is signed in, or if it is damaged or another server's.
    func read() throws -> StoredSession? {
        guard let text = try slot.read(), let kept = try? parseJson(StoredSession.self, Data(text.utf8)),
            kept.baseUrl ?? baseUrl == baseUrl
        else { return nil }
        return kept
    }

    /// Returns a session whose access token is valid by our clock. Throws `unauthenticated` if no user is signed in.
    func readFresh() async throws -> StoredSession {
        let kept = try read()
        if let kept, kept.expiresAt - expiryMargin > runner.now() { return kept }
        return try await renew(kept)
    }

    /// Callers share one refresh. Throws `unauthenticated` if signed out, `conflict` if another user is signed in.
    func renew(_ kept: StoredSession?) async throws -> StoredSession {
        guard let kept else { throw notSignedInError() }
        let shared = refreshing ?? Task {
            defer { refreshing = nil }
            return try await refresh(kept.accessToken)
        }
        refreshing = shared
        let next = try await shared.value
        if let userId = kept.userId, next.userId != userId { throw userChangedError() }
        return next
    }

    /// Retries once with a new token: the first may have expired, or an intermediary may have removed it. The session
    /// has ended only if it cannot be refreshed.
    func withToken<T: Sendable>(_ send: @HomeportActor @Sendable (String) async throws -> T) async throws -> T {
        let kept = try await readFresh()
        do {
            return try await send(kept.accessToken)
        } catch where isTokenRefused(error) {
            // An intermediary's refusal must not make the client send a request twice.
            let next: StoredSession
            do {
                next = try await renew(kept)
            } catch let failure as HomeportError where failure.code == "conflict" {
                // Another user has since signed in: the server refused the previous user's request.
                throw error
            }
            return try await send(next.accessToken)
        }
    }

    /// With `isFirst`, throws `conflict` if a user has signed in since.
    func keep(_ tokens: SessionTokens, isFirst: Bool) throws {
        if try isFirst && read() != nil { throw alreadySignedInError() }
        deletion = .none
        _ = try store(tokens, .signedIn)
    }

    func forget(_ reason: AuthChangeReason) throws {
        var (stored, isReadable) = (StoredSession?.none, true)
        do { stored = try slot.read().flatMap { try? parseJson(StoredSession.self, Data($0.utf8)) } } catch {
            // An unreadable session is removed too: a phone that has lost its key can never read it again.
            isReadable = false
        }
        guard stored?.baseUrl ?? baseUrl == baseUrl else { return }
        try slot.clear()
        if stored != nil || !isReadable { announce(reason, userId: nil) }
    }

    func trackSignIn<T: Sendable>(_ signIn: @HomeportActor @Sendable () async throws -> T) async throws -> T {
        signIns += 1
        defer {
            signIns -= 1
            if signIns == 0 {
                for waiting in waitingForSignIns { waiting.resume() }
                waitingForSignIns = []
            }
        }
        return try await signIn()
    }

    /// Shared by all callers: no caller's cancellation or timeout cancels it.
    func exchangeRefreshToken(_ refreshToken: String) async throws -> SessionTokens {
        try await runner.run(timeout: nil) { deadline in
            let content = Call(json: ["refreshToken": refreshToken])
            return try SessionTokens(
                await self.caller.call("POST", "/api/auth/refresh/v1", token: nil, content, deadline))
        }
    }

    private func refresh(_ staleToken: String) async throws -> StoredSession {
        for attempt in 0...retryDelays.count {
            guard let kept = try read() else { throw notSignedInError() }
            // Another process or an earlier caller has already refreshed the session.
            if kept.accessToken != staleToken { return kept }
            do {
                return try await exchange(kept)
            } catch {
                if isSessionEnded(error) { return try await readReplacement(of: staleToken, refusal: error) }
                guard attempt < retryDelays.count, isTransient(error) else { throw error }
                await runner.sleep(retryDelays[attempt])
            }
        }
        throw notSignedInError()
    }

    private func exchange(_ kept: StoredSession) async throws -> StoredSession {
        let tokens = try await exchangeRefreshToken(kept.refreshToken)
        // In the meantime the user may have signed out, or another user may have signed in.
        if try read()?.refreshToken == kept.refreshToken { return try store(tokens, .refreshed) }
        return StoredSession(
            accessToken: tokens.accessToken, refreshToken: tokens.refreshToken, expiresAt: 0, userId: kept.userId)
    }

    /// Returns the session with which another process replaced this one; if none did, deletes it and throws `refusal`.
    private func readReplacement(of staleToken: String, refusal: Error) async throws -> StoredSession {
        // The server ends a guest's session at sign-in, and the new session may soon arrive.
        if signIns > 0 { await withCheckedContinuation { waitingForSignIns.append($0) } }
        if try read()?.accessToken == staleToken {
            if deletion == .unanswered(token: staleToken) { deletion = .refused }
            try forget(.sessionEnded)
        }
        guard let kept = try read() else { throw refusal }
        return kept
    }

    private func store(_ tokens: SessionTokens, _ reason: AuthChangeReason) throws -> StoredSession {
        let before = try? read()
        let replacedId = before?.isGuest == true ? before?.userId : nil
        let kept = StoredSession(
            accessToken: tokens.accessToken, refreshToken: tokens.refreshToken,
            expiresAt: runner.now() + tokens.expiresIn * 1000, userId: tokens.user.id,
            isGuest: tokens.user.loginType == "guest",
            guestId: before?.userId == tokens.user.id ? before?.guestId : replacedId, baseUrl: baseUrl)
        try slot.write(kept)
        announce(reason, userId: tokens.user.id)
        return kept
    }

    /// Removes another user's kept values. If the storage fails they stay, but no other user sees them.
    private func announce(_ reason: AuthChangeReason, userId: String?) {
        let isOwn = userId.map { id in (try? keptSlot.read())?.contains("\"userId\":\"\(id)\"") ?? false } ?? false
        if !isOwn { try? keptSlot.clear() }
        listeners.send(AuthChange(reason: reason, isSignedIn: userId != nil, userId: userId))
    }
}

/// Whether the server itself says that the session has ended.
private func isSessionEnded(_ error: Error) -> Bool {
    guard let error = error as? HomeportError else { return false }
    return error.isGenuine && error.code == "unauthenticated"
}

/// Whether the server itself refuses the access token.
private func isTokenRefused(_ error: Error) -> Bool {
    guard let error = error as? HomeportError else { return false }
    return error.isGenuine && ["unauthenticated", "token_expired"].contains(error.code)
}

/// Whether a retry may help: no response, a server error, or a refresh by another process.
private func isTransient(_ error: Error) -> Bool {
    guard let error = error as? HomeportError else { return false }
    return ["network_error", "timeout", "conflict"].contains(error.code) || error.status >= 500
}

private func notSignedInError() -> HomeportError {
    HomeportError(status: 401, code: "unauthenticated", message: "No user is signed in.", isGenuine: true)
}

private func userChangedError() -> HomeportError {
    HomeportError(code: "conflict", message: "Another user has since signed in.")
}

private func alreadySignedInError() -> HomeportError {
    HomeportError(code: "conflict", message: "A user is signed in: sign out first.")
}

private func noSessionError() -> HomeportError {
    HomeportError(status: 200, code: "reply_invalid", message: "The server's response has no session.")
}

// MARK: - Caller

/// The content of a call.
private struct Call: Sendable {
    var query: [String: String]
    var json: (any Encodable & Sendable)?
    var form: Form?
    var headers: [String: String] = [:]
    /// Receives an event stream; the call returns when it ends.
    var onData: (@Sendable (Data) -> Void)?
    var onProgress: (@Sendable (UploadProgress) -> Void)?

    init(query: [String: String?] = [:], json: (any Encodable & Sendable)? = nil) {
        (self.query, self.json) = (fields(query), json)
    }
}

/// A response that reports success, or that the kept copy is still valid (304).
private struct Envelope: Sendable {
    var reply: HomeportReply
    var next: String?

    /// Returns the data of the response, or its message if it has no data.
    func read<T: Decodable>() throws -> T {
        do { return try parseJson(Content<T>.self, reply.body).value } catch { throw unreadable(reply, cause: error) }
    }

    private struct Content<T: Decodable>: Decodable {
        let value: T
        private enum CodingKeys: String, CodingKey { case response }

        init(from decoder: Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            value = members.contains(.response) ? try members.decode(T.self, forKey: .response) : try T(from: decoder)
        }
    }
}

/// The members that any response may have. A member of another type counts as absent.
private struct ReplyHead: Decodable {
    var code, message, next, requestId: String?
    var details: [HomeportError.Detail]?
    var hasData = false
    private enum CodingKeys: String, CodingKey { case code, message, next, requestId, details, response }

    init(_ body: Data) { self = (try? parseJson(Self.self, body)) ?? Self() }
    private init() {}
    init(from decoder: Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) -> String? { try? members.decode(String.self, forKey: key) }
        (code, message, next, requestId) = (text(.code), text(.message), text(.next), text(.requestId))
        details = try? members.decode([HomeportError.Detail].self, forKey: .details)
        hasData = (try? members.nestedContainer(keyedBy: CodingKeys.self, forKey: .response)) != nil
            || (try? members.nestedUnkeyedContainer(forKey: .response)) != nil
    }
}

/// Turns calls into requests, and responses into envelopes or errors.
@HomeportActor
private final class Caller {
    nonisolated let baseUrl: String
    nonisolated let runner: Runner
    private let sealed: SealedTransport?
    private let context: ContextHeaders

    nonisolated init(_ baseUrl: String, _ sealed: SealedTransport?, _ context: ContextHeaders, _ runner: Runner) {
        (self.baseUrl, self.sealed, self.context, self.runner) = (baseUrl, sealed, context, runner)
    }

    /// Only reads are retried automatically.
    func call(
        _ method: String, _ path: String, token: String?, _ content: Call, _ deadline: Deadline
    ) async throws -> Envelope {
        // Delays in ms before a read that failed on the network is retried.
        for delay in method == "GET" ? [300.0, 1_000] : [] {
            do {
                return try await send(method, path, token, content, deadline)
            } catch let error as HomeportError {
                let mayRecover = error.code == "network_error" || [502, 503, 504].contains(error.status)
                let requested = error.retryAfter ?? 0
                guard mayRecover, requested <= 5, deadline.failure == nil else { throw error }
                // Randomized so that phones do not all retry at once.
                await runner.sleep(max(delay * (0.5 + runner.platform.random()), Double(requested) * 1000))
            }
        }
        return try await send(method, path, token, content, deadline)
    }

    private func send(
        _ method: String, _ path: String, _ token: String?, _ content: Call, _ deadline: Deadline
    ) async throws -> Envelope {
        var request = Request(method: method, target: path + queryString(content.query), token: token)
        request.headers = context.headers().merging(content.headers) { $1 }
        (request.contentType, request.body) = (content.form?.contentType, content.form?.body ?? .none)
        if let json = content.json {
            (request.contentType, request.body) = ("application/json", .data(try toJson(json)))
        }
        (request.onData, request.onProgress) = (content.onData, content.onProgress)
        let reply: HomeportReply
        if let sealed { reply = try await sealed.send(request, deadline) } else {
            reply = try await sendPlain(request, deadline)
        }
        let isStillValid = reply.status == 304 && content.headers["if-none-match"] != nil
        if reply.isStream || isStillValid { return Envelope(reply: reply) }
        let head = ReplyHead(reply.body)
        // A captive portal, for example, can return the same status.
        let isSuccess = head.code != nil && (head.hasData || (method != "GET" && head.message != nil))
        if reply.status < 400 && isSuccess { return Envelope(reply: reply, next: head.next) }
        guard reply.status >= 400, let code = head.code else { throw unreadable(reply, now: runner.now()) }
        var failure = unreadable(reply, now: runner.now())
        failure.code = code
        failure.message = head.message ?? failure.message
        (failure.details, failure.requestId) = (head.details ?? [], head.requestId)
        throw failure
    }

    private func sendPlain(_ request: Request, _ deadline: Deadline) async throws -> HomeportReply {
        var raw = HomeportRequest(url: baseUrl + request.target, request, env: "test")
        (raw.body, raw.headers["content-type"]) = (request.body, request.contentType)
        if let token = request.token { raw.headers["authorization"] = "Bearer \(token)" }
        var reply = try await runner.transmit(raw, request.onProgress, deadline)
        reply.isGenuine = true
        return reply
    }
}

/// A request before it is sealed, or sent unsealed. `target`: path and query, percent-encoded.
private struct Request: Sendable {
    var method: String
    var target: String
    var token: String?
    var headers: [String: String] = [:]
    var contentType: String?
    var body = HomeportRequest.Body.none
    var onData: (@Sendable (Data) -> Void)?
    var onProgress: (@Sendable (UploadProgress) -> Void)?
}

extension Homeport {
    /// Reads go through the part that keeps responses.
    fileprivate func call(
        _ method: String, _ path: String, _ token: String?, _ content: Call, _ deadline: Deadline
    ) async throws -> Envelope {
        guard method == "GET", let name = KeptResponses.names[path] else {
            return try await session.caller.call(method, path, token: token, content, deadline)
        }
        return try await kept.fetch(name, path, token, content, deadline)
    }

    fileprivate func asUser<T: Decodable & Sendable>(
        _ method: String, _ path: String, query: [String: String?] = [:],
        json: (any Encodable & Sendable)? = nil, as type: T.Type = T.self
    ) async throws -> T {
        let content = Call(query: query, json: json)
        return try await perform { deadline in
            try await self.session.withToken { try await self.call(method, path, $0, content, deadline) }.read()
        }
    }

    fileprivate func withoutToken<T: Decodable & Sendable>(
        _ method: String, _ path: String, query: [String: String?] = [:],
        json: (any Encodable & Sendable)? = nil, as type: T.Type = T.self
    ) async throws -> T {
        let content = Call(query: query, json: json)
        return try await perform { try await self.call(method, path, nil, content, $0).read() }
    }

    fileprivate func perform<T: Sendable>(
        _ work: @escaping @HomeportActor @Sendable (Deadline) async throws -> T
    ) async throws -> T {
        try await runner.run(timeout: Self.timeout.map { $0 * 1000 }, work)
    }
}

/// The headers that describe the device and the app.
private struct ContextHeaders: Sendable {
    let app: InstalledApp?
    let device: String?
    let language: String?

    func headers() -> [String: String] {
        let languages = language ?? Locale.preferredLanguages.joined(separator: ", ")
        let headers: [String: String?] = [
            "timezone": TimeZone.current.identifier,
            // Headers are ASCII, and device names can contain any character.
            "device": device.map(percentEncoded),
            "app-platform": app?.platform,
            "app-version": app?.version,
            "device-id": app?.deviceId.flatMap { $0.isEmpty ? nil : percentEncoded($0) },
            "accept-language": String(languages.unicodeScalars.filter { (" "..."~").contains($0) }),
        ]
        return headers.compactMapValues { $0 }.filter { !$0.value.isEmpty }
    }
}

/// A mistake in the configuration stops the program.
private func normalizeBaseUrl(_ baseUrl: String) -> String {
    let isAddress = baseUrl.range(of: #"^(?i)https?://[^\s/?#@]+(/[^\s?#]*)?$"#, options: .regularExpression) != nil
    precondition(isAddress, "baseUrl must be a URL such as https://api.example.com; it is \"\(baseUrl)\".")
    return baseUrl.replacingOccurrences(of: "/+$", with: "", options: .regularExpression)
}

private func unreadable(_ reply: HomeportReply, now: Double = 0, cause: Error? = nil) -> HomeportError {
    let message = "The server answered \(reply.status) with a response that cannot be read."
    let wait = parseRetryAfter(reply.headers["retry-after"] ?? "", now)
    return HomeportError(
        status: reply.status, code: "reply_invalid", message: message, retryAfter: wait, isGenuine: reply.isGenuine,
        cause: cause)
}

/// `Retry-After` (RFC 9110) is a number of seconds or a date.
private func parseRetryAfter(_ text: String, _ now: Double) -> Int? {
    if text.isEmpty || text.hasPrefix("-") { return nil }
    let seconds = Double(text) ?? parseHttpDate(text).map { ($0 - now) / 1000 }
    return seconds.flatMap { Int(exactly: max(0, $0.rounded(.up))) }
}

private func queryString(_ query: [String: String]) -> String {
    let pairs = query.sorted { $0.key < $1.key }.map { "\($0)=\(percentEncoded($1))" }
    return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
}

private func fields(_ members: [String: String?]) -> [String: String] { members.compactMapValues { $0 } }

// MARK: - Network and time

/// The dependencies that tests replace: the clock, the timers, randomness and the network. Times are in ms.
public struct HomeportPlatform: Sendable {
    /// The device's clock: ms since 1970.
    public var now: @Sendable () -> Double = { (Date().timeIntervalSince1970 * 1000).rounded(.down) }
    /// A monotonic clock.
    public var elapsed: @Sendable () -> Double = {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }
    /// Calls a function after a number of ms. Returns a function that cancels it.
    public var schedule: @Sendable (Double, @escaping @Sendable () -> Void) -> @Sendable () -> Void = { ms, run in
        let timer = Task {
            try await Task.sleep(nanoseconds: UInt64(min(max(ms, 0), 1e12) * 1e6))
            run()
        }
        return { timer.cancel() }
    }
    /// From 0 to 1.
    public var random: @Sendable () -> Double = { .random(in: 0..<1) }
    /// Sends a request. Throws if there is no response, or the task is cancelled.
    public var send: @Sendable (HomeportRequest) async throws -> HomeportReply = { try await network.send($0) }
    public static var current: Self { Self() }
    public init() {}
}

/// A request ready to send.
public struct HomeportRequest: Sendable {
    public enum Body: Sendable { case none, data(Data), file(URL) }
    public var url: String
    public var method: String
    public var headers: [String: String]
    public var body = Body.none
    /// Called with each piece of an event stream as it arrives, in order.
    public var onData: (@Sendable (Data) -> Void)?
    /// Called during an upload as bytes are sent, with the number sent and the total.
    public var onProgress: (@Sendable (Int, Int) -> Void)?

    fileprivate init(url: String, _ request: Request, env: String) {
        (self.url, method, onData) = (url, request.method, request.onData)
        headers = request.headers.merging(["env": env]) { $1 }
        // A cached read would hide a change that `onChange` has just reported.
        if method == "GET" { headers["cache-control"] = "no-cache" }
    }

    fileprivate init(url: String) { (self.url, method, headers) = (url, "GET", ["cache-control": "no-cache"]) }
}

/// A received response; the names of `headers` are in lower case. `isStream`: it was an event stream, which has ended.
public struct HomeportReply: Sendable {
    public var status: Int
    public var headers: [String: String]
    public var body: Data
    public var isStream = false
    /// The server sealed it, or sealing is off.
    fileprivate var isGenuine = false

    public init(status: Int, headers: [String: String], body: Data, isStream: Bool = false) {
        (self.status, self.headers, self.body, self.isStream) = (status, headers, body, isStream)
    }
}

private let network = Network()

/// Sends with URLSession.
private final class Network: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        let request: HomeportRequest
        let finish: CheckedContinuation<HomeportReply, Error>
        var body = Data()
    }

    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    private lazy var session: URLSession = {
        let configuration = URLSessionConfiguration.ephemeral
        (configuration.urlCache, configuration.httpCookieStorage) = (nil, nil)
        // The client has timeouts of its own.
        configuration.timeoutIntervalForRequest = 7 * 24 * 3600
        return URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }()

    func send(_ request: HomeportRequest) async throws -> HomeportReply {
        guard let url = URL(string: request.url) else { throw URLError(.badURL) }
        var raw = URLRequest(url: url)
        raw.httpMethod = request.method
        for (name, value) in request.headers { raw.setValue(value, forHTTPHeaderField: name) }
        let task = lock.locked {
            switch request.body {
            case .none: session.dataTask(with: raw)
            case .data(let data): session.uploadTask(with: raw, from: data)
            case .file(let file): session.uploadTask(with: raw, fromFile: file)
            }
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { finish in
                lock.locked { exchanges[task.taskIdentifier] = Exchange(request: request, finish: finish) }
                task.resume()
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            // Before the exchange is stored, nothing would receive its end.
            if lock.locked({ exchanges[task.taskIdentifier] != nil }) { task.cancel() }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let onData: (@Sendable (Data) -> Void)? = lock.locked {
            if let response = dataTask.response as? HTTPURLResponse, isStream(response),
                let onData = exchanges[dataTask.taskIdentifier]?.request.onData
            {
                return onData
            }
            exchanges[dataTask.taskIdentifier]?.body.append(data)
            return nil
        }
        onData?(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let exchange = lock.locked { exchanges[task.taskIdentifier] }
        exchange?.request.onProgress?(Int(totalBytesSent), Int(totalBytesExpectedToSend))
    }

    /// Another server must not get the token, nor a body with a password.
    private func redirected(_ task: URLSessionTask, _ newRequest: URLRequest) -> URLRequest? {
        let (old, new) = (task.originalRequest?.url, newRequest.url)
        let isSafe = new?.scheme == "https" || new?.scheme == old?.scheme
        if isSafe && new?.host == old?.host && new?.port == old?.port { return newRequest }
        guard newRequest.httpMethod == "GET" else { return nil }
        var request = newRequest
        request.setValue(nil, forHTTPHeaderField: "authorization")
        return request
    }

    #if canImport(FoundationNetworking)
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(redirected(task, newRequest))
    }
    #else
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest: URLRequest
    ) async -> URLRequest? {
        redirected(task, newRequest)
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: Error?) {
        guard let exchange = lock.locked({ exchanges.removeValue(forKey: task.taskIdentifier) }) else { return }
        let response = task.response as? HTTPURLResponse
        let hasStreamed = exchange.request.onData != nil && response.map(isStream) == true
        // The caller reconnects whenever a stream ends.
        guard let response, error == nil || hasStreamed else {
            return exchange.finish.resume(throwing: error ?? URLError(.badServerResponse))
        }
        let headers = response.allHeaderFields.map { ("\($0)".lowercased(), "\($1)") }
        exchange.finish.resume(
            returning: HomeportReply(
                status: response.statusCode, headers: Dictionary(headers) { $1 }, body: exchange.body,
                isStream: hasStreamed))
    }

    private func isStream(_ response: HTTPURLResponse) -> Bool {
        let type = response.value(forHTTPHeaderField: "content-type")
        return response.statusCode == 200 && type?.hasPrefix("text/event-stream") == true
    }
}

/// Runs calls with their deadlines.
@HomeportActor
private final class Runner {
    nonisolated let platform: HomeportPlatform
    /// The default timeout of a call, in ms.
    nonisolated let timeout: Double

    nonisolated init(platform: HomeportPlatform, timeout: Double) {
        (self.platform, self.timeout) = (platform, timeout)
    }

    func now() -> Double { platform.now() }

    /// Fails immediately on cancellation or timeout, even while waiting for a retry, a refresh or another call.
    func run<T: Sendable>(
        timeout: Double?, _ work: @escaping @HomeportActor @Sendable (Deadline) async throws -> T
    ) async throws -> T {
        let timeout = timeout ?? self.timeout
        guard timeout > 0 else { throw HomeportError(code: "unexpected", message: "timeout must be above 0.") }
        let deadline = Deadline(timeout: timeout, runner: self)
        if Task.isCancelled { throw abortedError }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                deadline.begin { continuation.resume(throwing: $0) }
                Task {
                    do {
                        let value = try await work(deadline)
                        if deadline.finish() != nil { continuation.resume(returning: value) }
                    } catch {
                        let failure = error as? HomeportError
                        deadline.finish()?(
                            failure ?? HomeportError(code: "unexpected", message: "\(error)", cause: error))
                    }
                }
            }
        } onCancel: {
            Task { @HomeportActor in deadline.fail(abortedError) }
        }
    }

    func sleep(_ ms: Double) async {
        await withCheckedContinuation { continuation in _ = after(ms) { continuation.resume() } }
    }

    /// Returns a function that cancels the timer.
    func after(_ ms: Double, _ run: @escaping @HomeportActor @Sendable () -> Void) -> @Sendable () -> Void {
        platform.schedule(ms) { Task { @HomeportActor in run() } }
    }

    func transmit(
        _ request: HomeportRequest, _ onProgress: (@Sendable (UploadProgress) -> Void)?, _ deadline: Deadline
    ) async throws -> HomeportReply {
        try deadline.check()
        var request = request
        if let onProgress {
            deadline.restart(deadline.timeout)
            request.onProgress = { sent, total in
                onProgress(UploadProgress(sent: sent, total: total))
                Task { @HomeportActor in deadline.restart(deadline.timeout) }
            }
        }
        let sending = Task { [platform, request] in try await platform.send(request) }
        deadline.cancelRequest = { sending.cancel() }
        let result = await sending.result
        try deadline.check()
        do { return try result.get() } catch {
            throw HomeportError(code: "network_error", message: "The server cannot be reached.", cause: error)
        }
    }
}

private let abortedError = HomeportError(code: "aborted", message: "The call was cancelled.")

/// The timeout and cancellation of one call.
@HomeportActor
private final class Deadline {
    /// For the whole call; for an upload, the longest time without progress.
    let timeout: Double
    /// Why the call was cancelled; nil while it runs.
    private(set) var failure: HomeportError?
    var cancelRequest: @Sendable () -> Void = {}
    private let runner: Runner
    private var onFailure: ((HomeportError) -> Void)?
    private var cancelTimer: @Sendable () -> Void = {}

    init(timeout: Double, runner: Runner) { (self.timeout, self.runner) = (timeout, runner) }

    func begin(_ onFailure: @escaping (HomeportError) -> Void) {
        self.onFailure = onFailure
        restart(timeout)
    }

    /// The call has `ms` from now.
    func restart(_ ms: Double) {
        cancelTimer()
        guard onFailure != nil, ms < Double(Int32.max) else { return }
        cancelTimer = runner.after(ms) {
            self.fail(HomeportError(code: "timeout", message: "The server did not answer in time."))
        }
    }

    func fail(_ error: HomeportError) {
        guard let onFailure = finish() else { return }
        failure = error
        onFailure(error)
        cancelRequest()
    }

    func check() throws { if let failure { throw failure } }

    /// Returns the function that reports a failure; nil if the call has already ended.
    func finish() -> ((HomeportError) -> Void)? {
        cancelTimer()
        defer { onFailure = nil }
        return onFailure
    }
}

extension NSLock {
    fileprivate func locked<T>(_ work: () throws -> T) rethrows -> T {
        lock()
        defer { unlock() }
        return try work()
    }
}

/// Functions to call, added and removed on any thread.
private final class Listeners<Event: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var listeners: [Int: @Sendable (Event) -> Void] = [:]
    private var count = 0
    var ids: Set<Int> { lock.locked { Set(listeners.keys) } }

    func add(_ listener: @escaping @Sendable (Event) -> Void) -> Int {
        lock.locked {
            count += 1
            listeners[count] = listener
            return count
        }
    }

    func remove(_ id: Int) { lock.locked { listeners[id] = nil } }

    func send(_ event: Event, to ids: Set<Int>? = nil) {
        let called = lock.locked { listeners.sorted { $0.key < $1.key } }
        for (id, listener) in called where ids?.contains(id) != false { listener(event) }
    }
}

/// Turns the reports of a function such as `onChange` into a stream.
private func stream<Event: Sendable>(
    _ listen: (@escaping @Sendable (Event) -> Void) -> @Sendable () -> Void
) -> AsyncStream<Event> {
    let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
    let stop = listen { continuation.yield($0) }
    continuation.onTermination = { _ in stop() }
    return stream
}

// MARK: - Sealing

private struct PublicJwk: Codable, Sendable {
    var kty, crv, x, y: String
    var use: String?

    /// RFC 7638. It is computed: the key's own `kid` proves nothing.
    var thumbprint: String {
        let text = "{\"crv\":\"\(crv)\",\"kty\":\"\(kty)\",\"x\":\"\(x)\",\"y\":\"\(y)\"}"
        return Data(SHA256.hash(data: Data(text.utf8))).base64Url
    }
    /// The point, as CryptoKit expects it.
    var rawRepresentation: Data { (Data(base64Url: x) ?? Data()) + (Data(base64Url: y) ?? Data()) }
}

/// Sends sealed requests: compact JWE (RFC 7516: ECDH-ES, A256GCM).
@HomeportActor
private final class SealedTransport {
    private let baseUrl: String
    private let env: String
    private let pinnedKeys: [String]?
    private let runner: Runner
    private var known: (key: PublicJwk, readAt: Double)?
    private var reading: Task<PublicJwk, Error>?
    /// How far the server's clock is ahead of ours, in ms.
    private var clockOffset = 0.0

    nonisolated init(_ baseUrl: String, _ env: String, _ pinnedKeys: [String]?, _ runner: Runner) {
        (self.baseUrl, self.env, self.pinnedKeys, self.runner) = (baseUrl, env, pinnedKeys, runner)
    }

    /// Retries once with a new key and once with a corrected clock. The plain response that requests this could be
    /// forged after the request was executed: all attempts have one id, and the time must come from a sealed response.
    func send(_ request: Request, _ deadline: Deadline) async throws -> HomeportReply {
        let id = randomData(16).base64Url
        let startedAt = runner.platform.elapsed()
        var handled: Set<String> = []
        while true {
            let at = runner.now() + clockOffset
            let (reply, _) = try await exchange(request, id, at, deadline)
            guard !reply.isGenuine, let code = ReplyHead(reply.body).code, !handled.contains(code),
                try await recover(code, reply, at, deadline)
            else { return reply }
            // By now the server may have forgotten the first message, and would execute the request twice.
            if runner.platform.elapsed() - startedAt > 60_000 { return reply }
            handled.insert(code)
        }
    }

    /// Replaces the key or corrects the clock after a refusal of a message sealed at `at`. Returns whether to retry.
    private func recover(
        _ code: String, _ reply: HomeportReply, _ at: Double, _ deadline: Deadline
    ) async throws -> Bool {
        if code == "encryption_unknown_key" {
            known = nil
            _ = try await readSharedKey()
            return true
        }
        guard code == "encryption_stale" else { return false }
        // The time in the message is unverified: the sealed response of a public endpoint contains the server's time.
        let message = ReplyHead(reply.body).message ?? ""
        let claimed = message.split(separator: " ").last.flatMap { parseDate(String($0)) }?.milliseconds ?? runner.now()
        let startedAt = runner.now()
        let request = Request(method: "GET", target: contentVersionPath)
        let (_, sealedAt) = try await exchange(request, randomData(16).base64Url, claimed, deadline)
        // A reading that took longer than 10 s is too inaccurate.
        guard let sealedAt, abs(runner.now() - startedAt) <= 10_000 else { return false }
        clockOffset = sealedAt - runner.now()
        return abs(sealedAt - at) > 300_000
    }

    /// `sealedAt`: when the server sealed the reply, in ms; nil if it did not.
    private func exchange(
        _ request: Request, _ id: String, _ at: Double, _ deadline: Deadline
    ) async throws -> (HomeportReply, sealedAt: Double?) {
        var body = Data()
        if case .data(let data) = request.body { body = data }
        let server = try await currentKey()
        let (message, replyKey) = try HomeportJwe.sealRequest(
            method: request.method, target: request.target, token: request.token, contentType: request.contentType,
            body: body, kid: server.thumbprint, serverKey: server.rawRepresentation, at: at, id: id)
        var raw = HomeportRequest(url: baseUrl + request.target, request, env: env)
        if case .none = request.body {
            raw.headers["payload"] = message
        } else {
            raw.headers["content-type"] = "application/jose"
            raw.body = .data(Data(message.utf8))
        }
        let reply = try await runner.transmit(raw, request.onProgress, deadline)
        if reply.isStream { return (reply, nil) }
        guard reply.headers["content-type"]?.hasPrefix("application/jose") == true else {
            if reply.status >= 400 { return (reply, nil) }
            let text = "The response is not sealed: it comes from an intermediary between the app and the server."
            throw HomeportError(status: reply.status, code: "reply_not_sealed", message: text)
        }
        let sealed = try HomeportJwe.openReply(reply.body, status: reply.status, id: id, key: replyKey)
        var opened = reply
        (opened.body, opened.isGenuine) = (sealed.body, true)
        opened.headers["content-type"] = sealed.contentType
        return (opened, sealed.at)
    }

    private func currentKey() async throws -> PublicJwk {
        guard let known else { return try await readSharedKey() }
        // The server announces a new key a day ahead.
        if runner.now() - known.readAt < 3_600_000 { return known.key }
        do {
            return try await readSharedKey()
        } catch let error as HomeportError where error.code != "no_trusted_key" {
            // The server accepts an old key for weeks, so it still works while the keys cannot be read.
            return known.key
        }
    }

    /// Concurrent callers share the result, so no caller's cancellation or timeout cancels it.
    private func readSharedKey() async throws -> PublicJwk {
        let shared = reading ?? Task {
            defer { reading = nil }
            return try await runner.run(timeout: 30_000) { try await self.readKey($0) }
        }
        reading = shared
        return try await shared.value
    }

    /// Chooses the first trusted key: the current one comes first, then older ones for apps that have pinned them.
    private func readKey(_ deadline: Deadline) async throws -> PublicJwk {
        struct Jwks: Decodable { var keys: [JSONValue] }
        // Intermediate caches could still hold a key that has just been retired.
        let url = "\(baseUrl)/.well-known/jwks.json?at=\(UInt64(max(0, runner.now())))"
        let reply = try await runner.transmit(HomeportRequest(url: url), nil, deadline)
        func noKeys(_ cause: Error) -> HomeportError {
            let message = "The server publishes no keys: check that baseUrl is its URL, without a path."
            return HomeportError(status: reply.status, code: "reply_invalid", message: message, cause: cause)
        }
        do {
            let keys = try parseJson(Jwks.self, reply.body).keys.compactMap { try? $0.decoded(as: PublicJwk.self) }
            let usable = keys.filter { $0.use == "enc" && $0.kty == "EC" && $0.crv == "P-256" }
            guard let chosen = usable.first(where: { pinnedKeys?.contains($0.thumbprint) ?? true }) else {
                let message = "The server publishes no key that this app trusts."
                throw HomeportError(code: "no_trusted_key", message: message)
            }
            _ = try P256.KeyAgreement.PublicKey(rawRepresentation: chosen.rawRepresentation)
            known = (chosen, runner.now())
            return chosen
        } catch {
            throw error as? HomeportError ?? noKeys(error)
        }
    }
}

private struct JweHeader: Codable, Sendable {
    var alg, enc: String
    var typ, kid, cty: String?
    var epk: PublicJwk?
}

/// Compact JWE (RFC 7516) with A256GCM.
enum HomeportJwe {
    /// ECDH-ES with the Concat KDF (RFC 7518, 4.6.2). `serverKey`: x and y.
    static func contentKey(_ ephemeral: P256.KeyAgreement.PrivateKey, _ serverKey: Data) throws -> SymmetricKey {
        let publicKey = try P256.KeyAgreement.PublicKey(rawRepresentation: serverKey)
        let secret = try ephemeral.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes { Data($0) }
        func bigEndian(_ value: UInt32) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }
        let algorithm = bigEndian(7) + Data("A256GCM".utf8)
        let input = bigEndian(1) + secret + algorithm + bigEndian(0) + bigEndian(0) + bigEndian(256)
        return SymmetricKey(data: Data(SHA256.hash(data: input)))
    }

    /// Seals a request for the server's key. `at` is in ms; the server executes each `id` once.
    static func sealRequest(
        method: String, target: String, token: String?, contentType: String?, body: Data, kid: String, serverKey: Data,
        at: Double, id: String
    ) throws -> (message: String, replyKey: SymmetricKey) {
        let replyKey = SymmetricKey(size: .bits256)
        var line: [String: JSONValue] = [
            "v": .number(1), "jti": .string(id), "iat": .number((at / 1000).rounded(.down)), "ath": .null,
            "htm": .string(method), "htu": .string(target),
            "rk": .string(replyKey.withUnsafeBytes { Data($0) }.base64Url),
        ]
        if let token {
            line["ath"] = .string(Data(SHA256.hash(data: Data(token.utf8))).base64Url)
            // Inside the sealed part: in a header, an intermediary could read the token and use it.
            line["at"] = .string(token)
        }
        let ephemeral = P256.KeyAgreement.PrivateKey()
        let point = ephemeral.publicKey.rawRepresentation
        let epk = PublicJwk(kty: "EC", crv: "P-256", x: point.prefix(32).base64Url, y: point.suffix(32).base64Url)
        let header = JweHeader(alg: "ECDH-ES", enc: "A256GCM", typ: "req+jwe", kid: kid, cty: contentType, epk: epk)
        let key = try contentKey(ephemeral, serverKey)
        let plaintext = try toJson(line) + Data("\n".utf8) + body
        return (try encrypt(plaintext, header: toJson(header), key: key), replyKey)
    }

    /// Opens the response to one request, and refuses any other. `at`: when the server sealed it, in ms.
    static func openReply(
        _ message: Data, status: Int, id: String, key: SymmetricKey
    ) throws -> (body: Data, contentType: String?, at: Double) {
        struct Line: Decodable { var v, status: Int, jti: String, iat: Double }
        do {
            let opened = try decrypt(String(decoding: message, as: UTF8.self), key: key)
            let (header, plaintext) = (try parseJson(JweHeader.self, opened.header), opened.plaintext)
            let end = plaintext.firstIndex(of: 10) ?? plaintext.endIndex
            let line = try parseJson(Line.self, plaintext[..<end])
            guard header.alg == "dir", header.enc == "A256GCM", header.typ == "res+jwe", header.kid == id, line.v == 1,
                line.jti == id, line.status == status
            else { throw CocoaError(.coderInvalidValue) }
            return (Data(plaintext[end...].dropFirst()), header.cty, line.iat * 1000)
        } catch {
            let text = "The response is not the one that the server sealed for this request."
            throw HomeportError(status: status, code: "reply_invalid", message: text, cause: error)
        }
    }

    static func encrypt(
        _ plaintext: Data, header: Data, key: SymmetricKey, nonce: AES.GCM.Nonce = AES.GCM.Nonce()
    ) throws -> String {
        let authenticated = header.base64Url
        let box = try AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: Data(authenticated.utf8))
        let parts = [Data(box.nonce), box.ciphertext, box.tag].map(\.base64Url)
        return "\(authenticated)..\(parts.joined(separator: "."))"
    }

    static func decrypt(_ message: String, key: SymmetricKey) throws -> (header: Data, plaintext: Data) {
        let parts = message.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let bytes = parts.compactMap { Data(base64Url: $0) }
        guard parts.count == 5, bytes.count == 5, bytes[1].isEmpty else { throw CocoaError(.coderInvalidValue) }
        let box = try AES.GCM.SealedBox(nonce: AES.GCM.Nonce(data: bytes[2]), ciphertext: bytes[3], tag: bytes[4])
        return (bytes[0], try AES.GCM.open(box, using: key, authenticating: Data(parts[0].utf8)))
    }
}

// MARK: - Kept values

/// Keeps the last response of each kind for the signed-in user.
@HomeportActor
private final class KeptResponses {
    /// `asOf`: the server's time, in ms.
    struct Entry: Codable {
        var data: JSONValue
        var asOf: Double
        var etag, lang: String?
    }

    /// The values of one user of one server. `seenAt`: the latest time that is known to have passed, in ms.
    struct Memory: Codable {
        var baseUrl: String
        var userId: String?
        var seenAt = 0.0
        var entries: [String: Entry] = [:]
    }

    static let names = [
        subscriptionPath: "subscription", profilePath: "profile", settingsPath: "settings", plansPath: "plans",
        ratesPath: "rates", faqsPath: "faqs",
    ]
    private let session: SessionKeeper
    private let signingKeys: [String]?
    /// The server's time at a response, and the monotonic clock then, both in ms.
    private var anchor: (server: Double, elapsed: Double)?

    nonisolated init(_ session: SessionKeeper, _ signingKeys: [String]?) {
        (self.session, self.signingKeys) = (session, signingKeys)
    }

    /// Sends a request that reads a value, and keeps the response. A storage that fails does not fail the call.
    func fetch(
        _ name: String, _ path: String, _ token: String?, _ content: Call, _ deadline: Deadline
    ) async throws -> Envelope {
        let current = try? session.read()
        // The same for every user.
        let isPublic = ["plans", "rates", "faqs"].contains(name)
        let isProduction = content.query["environment"] ?? "production" == "production"
        guard isProduction, isPublic || token == current?.accessToken else {
            return try await session.caller.call("GET", path, token: token, content, deadline)
        }
        let (userId, lang) = (current?.userId, content.query["lang"])
        let known = load(userId).entries[name].flatMap { $0.lang == lang ? $0 : nil }
        var request = content
        if name == "subscription" { request.query["proof"] = "true" }
        request.headers["if-none-match"] = known?.etag
        let envelope = try await session.caller.call("GET", path, token: token, request, deadline)
        let headers = envelope.reply.headers
        let asOf = headers["date"].flatMap(parseHttpDate) ?? session.runner.now()
        var entry: Entry
        if envelope.reply.status == 304, let known {
            entry = known
            entry.asOf = asOf
        } else {
            entry = Entry(data: try envelope.read(), asOf: asOf, etag: headers["etag"], lang: lang)
        }
        keep(userId, name, entry)
        guard envelope.reply.status == 304 else { return envelope }
        var reply = envelope.reply
        reply.body = try toJson(["response": entry.data])
        return Envelope(reply: reply)
    }

    /// Returns the kept value as it is valid now; nil if there is none.
    func find<Value: Codable>(_ name: String, _ lang: String?, as type: Value.Type) -> (Value, Date)? {
        let memory = load(userId())
        guard let entry = memory.entries[name], entry.lang == lang,
            let data = try? entry.data.decoded(as: Value.self)
        else { return nil }
        let asOf = Date(milliseconds: entry.asOf)
        guard let subscription = data as? Subscription else { return (data, asOf) }
        guard let claims = readProof(subscription.proof ?? "", memory.userId ?? "") else { return nil }
        let at = max(currentTime(memory), claims.iat * 1000)
        if at - memory.seenAt > 60_000 { change(memory.userId) { $0.seenAt = at } }
        return (apply(claims, to: subscription, at: Date(milliseconds: at)) as? Value).map { ($0, asOf) }
    }

    func userId() -> String? { (try? session.read())?.userId }

    /// Returns no entries for another user or server, or if the storage cannot be read.
    func load(_ userId: String?) -> Memory {
        let text = try? session.keptSlot.read()
        let memory = text.flatMap { try? parseJson(Memory.self, Data($0.utf8)) }
        if let memory, memory.baseUrl == session.baseUrl, memory.userId == userId { return memory }
        return Memory(baseUrl: session.baseUrl, userId: userId)
    }

    private func keep(_ userId: String?, _ name: String, _ entry: Entry) {
        anchor = (entry.asOf, session.runner.platform.elapsed())
        change(userId) { memory in
            memory.entries[name] = entry
            memory.seenAt = entry.asOf
        }
    }

    /// Changes the kept values, unless another user has signed in.
    private func change(_ userId: String?, _ edit: (inout Memory) -> Void) {
        guard self.userId() == userId else { return }
        var memory = load(userId)
        edit(&memory)
        try? session.keptSlot.write(memory)
    }

    /// At least `seenAt`, and the last response plus the elapsed time: the device's clock may have been set back.
    private func currentTime(_ memory: Memory) -> Double {
        let passed = anchor.map { $0.server + session.runner.platform.elapsed() - $0.elapsed } ?? 0
        return max(session.runner.now(), memory.seenAt, passed)
    }

    /// Returns the claims of a subscription's proof (JWS, ES256); nil if the signature does not match its key, the key
    /// is not trusted, or the proof belongs to another user or to test purchases.
    private func readProof(_ proof: String, _ userId: String) -> Claims? {
        struct Header: Decodable { var alg, typ: String, jwk: PublicJwk }
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let bytes = parts.compactMap { Data(base64Url: $0) }
        guard bytes.count == 3, let header = try? parseJson(Header.self, bytes[0]), header.alg == "ES256",
            header.typ == "access+jwt", signingKeys?.contains(header.jwk.thumbprint) ?? true,
            let key = try? P256.Signing.PublicKey(rawRepresentation: header.jwk.rawRepresentation),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes[2]),
            key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)),
            let claims = try? parseJson(Claims.self, bytes[1])
        else { return nil }
        return claims.sub == userId && claims.environment == "production" ? claims : nil
    }
}

/// The claims that the server has signed. Times are in seconds since 1970; nil: no end.
private struct Claims: Decodable {
    struct Plan: Decodable { var id, code: String, exp: Double? }
    var sub, environment: String
    var iat: Double
    var entitlements: [String: Double?]
    var plan: Plan?
}

/// The subscription at a time: the access that the claims prove, and nothing that has ended.
private func apply(_ claims: Claims, to kept: Subscription, at now: Date) -> Subscription {
    let isOn = { (end: Double?) in end.map { Date(timeIntervalSince1970: $0) > now } ?? true }
    var result = kept
    result.entitlements = kept.entitlements.map { entitlement in
        var entitlement = entitlement
        if let end = claims.entitlements[entitlement.id], entitlement.active, isOn(end) {
            entitlement.expiresAt = end.map { Date(timeIntervalSince1970: $0) }
        } else {
            entitlement.active = false
        }
        return entitlement
    }
    result.subscriptions = kept.subscriptions.map { purchase in
        var purchase = purchase
        if let end = purchase.effectiveEndAt, end <= now, purchase.status != "refunded" { purchase.status = "expired" }
        return purchase
    }
    if let plan = claims.plan, kept.plan != nil, isOn(plan.exp) {
        result.plan?.id = plan.id
        result.plan?.code = plan.code
    } else {
        (result.plan, result.limits) = (nil, nil)
    }
    return result
}

// MARK: - Changes

/// The connection that all listeners share.
@HomeportActor
private final class ChangeStream {
    nonisolated let listeners = Listeners<Change>()
    private let session: SessionKeeper
    private let pause: Pause
    private let kinds = ["subscription", "profile", "data", "settings"]
    /// The server sends something every 25 s: a longer silence means a lost connection.
    private let maxSilence = 60_000.0
    private let firstRetry = 3_000.0
    private let maxRetry = 60_000.0
    /// Listeners that have not been called yet: a connection must be ready first.
    private var newListeners: Set<Int> = []
    private var lastEventId: String?
    private var retry = 3_000.0
    private var failures = 0
    private var isReady = false
    private var connection: Task<Void, Error>?
    /// Counts the starts, so that a loop that was stopped ends.
    private var runs = 0
    private var isRunning = false

    nonisolated init(_ session: SessionKeeper) { (self.session, pause) = (session, Pause(session.runner)) }

    func added(_ id: Int) {
        guard listeners.ids.contains(id) else { return }
        if !isRunning {
            (isRunning, lastEventId) = (true, nil)
            runs += 1
            Task { [runs] in await run(runs) }
        } else if isReady {
            for kind in kinds { listeners.send(Change(kind: kind), to: [id]) }
        } else {
            newListeners.insert(id)
        }
    }

    func removed(_ id: Int) {
        newListeners.remove(id)
        guard isRunning, listeners.ids.isEmpty else { return }
        isRunning = false
        restart()
    }

    func sessionChanged(_ change: AuthChange) {
        if isRunning && change.reason != .refreshed { restart() }
    }

    private func run(_ start: Int) async {
        let isStopped = { !self.isRunning || self.runs != start }
        while !isStopped() {
            pause.begin()
            do {
                if try session.read() != nil {
                    do { try await connect() } catch { failures += 1 }
                    if !isStopped() { await pause.wait(nextDelay()) }
                } else {
                    await pause.wait(nil)
                }
            } catch {
                // The storage failed, for example because the phone is locked.
                failures += 1
                await pause.wait(nextDelay())
            }
        }
    }

    private func connect() async throws {
        defer { isReady = false }
        let (pieces, arrived) = AsyncStream.makeStream(of: Data.self)
        let connection = Task {
            try await session.runner.run(timeout: maxSilence) { deadline in
                let reading = Task {
                    var parser = EventParser()
                    for await piece in pieces where deadline.failure == nil {
                        deadline.restart(self.maxSilence)
                        for event in parser.parse(piece) { self.receive(event) }
                    }
                }
                defer { arrived.finish() }
                var content = Call()
                content.onData = { arrived.yield($0) }
                content.headers["last-event-id"] = self.lastEventId
                _ = try await self.session.withToken { [content] in
                    try await self.session.caller.call("GET", "/api/user/changes/v1", token: $0, content, deadline)
                }
                arrived.finish()
                await reading.value
            }
        }
        self.connection = connection
        try await connection.value
    }

    private func receive(_ event: StreamEvent) {
        let isFirst = lastEventId == nil
        lastEventId = event.id ?? lastEventId
        retry = event.retry ?? retry
        // The next connection finds out whether the session has really ended.
        guard let name = event.name, name != "signed-out" else { return }
        guard name == "ready" else { return listeners.send(Change(kind: name)) }
        (failures, isReady) = (0, true)
        let called = isFirst ? listeners.ids : newListeners
        newListeners = []
        for kind in kinds { listeners.send(Change(kind: kind), to: called) }
    }

    /// Reconnects without the state of the previous session.
    private func restart() {
        (lastEventId, failures, retry) = (nil, 0, 0)
        connection?.cancel()
        pause.end()
    }

    /// In ms, randomized so that apps do not all connect at once when the server restarts.
    private func nextDelay() -> Double {
        let delay = min(retry * pow(2, Double(failures)), max(maxRetry, retry))
        if retry == 0 { retry = firstRetry }
        return delay * (0.25 + session.runner.platform.random())
    }
}

/// A server-sent event; without a name it only changes the id or the delay in ms.
private struct StreamEvent: Sendable {
    var name, id: String?
    var retry: Double?
}

/// Splits a stream of server-sent events, in pieces of any length, into events.
private struct EventParser {
    private var rest = Data()

    mutating func parse(_ piece: Data) -> [StreamEvent] {
        rest += piece
        var events: [StreamEvent] = []
        while let end = rest.range(of: Data("\n\n".utf8)) {
            var event = StreamEvent()
            for line in String(decoding: rest[..<end.lowerBound], as: UTF8.self).split(separator: "\n") {
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let value = parts.count == 2 ? String(parts[1].hasPrefix(" ") ? parts[1].dropFirst() : parts[1]) : ""
                if parts[0] == "event" { event.name = value }
                if parts[0] == "id" { event.id = value }
                if parts[0] == "retry" { event.retry = UInt32(value).map(Double.init) ?? event.retry }
            }
            events.append(event)
            rest = Data(rest[end.upperBound...])
        }
        // Events are short: a longer one comes from an intermediary.
        if rest.count > 65_536 { rest = Data() }
        return events
    }
}

// MARK: - Purchase queue

/// Submits purchases one at a time until their results are final, also after a restart.
@HomeportActor
private final class PurchaseQueue {
    /// The purchases of one user; `others`: the queues of other users and servers.
    private struct Stored: Codable {
        var baseUrl: String
        var userId: String
        var purchases: [SubmittedPurchase] = []
        var others: [Stored]?
    }

    nonisolated let listeners = Listeners<QueuedPurchaseResult>()
    private let slot: Slot
    private let session: SessionKeeper
    private let pause: Pause
    /// How often each purchase was still undecided, since when, and when to submit it again, by the monotonic clock.
    private var waits: [(purchase: SubmittedPurchase, count: Int, since: Double, due: Double)] = []
    private var failures = 0
    private var isRunning = false

    nonisolated init(_ slot: Slot, _ session: SessionKeeper) {
        (self.slot, self.session, pause) = (slot, session, Pause(session.runner))
    }

    func add(_ purchase: SubmittedPurchase) throws {
        guard let userId = try session.read()?.userId else { throw notSignedInError() }
        try change(userId) { if !$0.contains(purchase) { $0.append(purchase) } }
        waits.removeAll { $0.purchase == purchase }
        resume()
    }

    /// Submits the signed-in user's queued purchases now.
    func resume() {
        failures = 0
        pause.end()
        guard !isRunning else { return }
        isRunning = true
        Task {
            while let wait = await submitNext() { await pause.wait(wait) }
            isRunning = false
        }
    }

    /// Returns the ms until the next submission; nil if nothing is queued for the signed-in user.
    private func submitNext() async -> Double? {
        pause.begin()
        do {
            guard let kept = try session.read(), let userId = kept.userId else { return nil }
            if let guestId = kept.guestId { try move(from: guestId, to: userId) }
            let queued = try load(userId).purchases
            let due = { (purchase: SubmittedPurchase) in self.waits.first { $0.purchase == purchase }?.due ?? 0 }
            guard let purchase = queued.min(by: { due($0) < due($1) }) else { return nil }
            let early = due(purchase) - session.runner.platform.elapsed()
            if early > 0 { return early }
            let result = try await submit(purchase, as: userId)
            failures = 0
            let now = session.runner.platform.elapsed()
            let last = waits.first { $0.purchase == purchase }
            let (count, since) = (last?.count ?? 0, last?.since ?? now)
            waits.removeAll { $0.purchase == purchase }
            if ["checking", "pending"].contains(result.outcome) || isUnknown(purchase, result, now - since) {
                let wait = min(60_000 * pow(2, Double(count)), 3_600_000)
                waits.append((purchase, count + 1, since, now + wait))
            } else {
                try change(userId) { $0.removeAll { $0 == purchase } }
                listeners.send(QueuedPurchaseResult(purchase: purchase, result: result))
            }
            return 0
        } catch {
            let failure = error as? HomeportError
            // The next sign-in continues.
            if ["unauthenticated", "conflict"].contains(failure?.code) { return pause.hasEnded ? 0 : nil }
            if let retryAfter = failure?.retryAfter, retryAfter > 0 { return min(Double(retryAfter), 3_600) * 1000 }
            failures += 1
            let delay = min(2_000 * pow(2, Double(failures - 1)), 60_000)
            return delay * (0.5 + session.runner.platform.random())
        }
    }

    /// Google may not know a new purchase yet, and the server repeats its response for ten minutes. `age` is in ms.
    private func isUnknown(_ purchase: SubmittedPurchase, _ result: PurchaseResult, _ age: Double) -> Bool {
        guard case .playStorePurchase = purchase else { return false }
        return result.code == "purchase_gone" && age < 600_000
    }

    private func submit(_ purchase: SubmittedPurchase, as userId: String) async throws -> PurchaseResult {
        struct Results: Decodable, Sendable { var results: [PurchaseResult] }
        let content = Call(json: Submission(purchases: [purchase]))
        do {
            let reply: Results = try await session.runner.run(timeout: nil) { deadline in
                try await self.session.withToken { token in
                    // A purchase must not be bound to a user who signs in meanwhile.
                    guard try self.session.read()?.userId == userId else { throw userChangedError() }
                    return try await self.session.caller.call("POST", purchasesPath, token: token, content, deadline)
                }.read()
            }
            guard let result = reply.results.first else { throw noSessionError() }
            return result
        } catch let error as HomeportError {
            let isRefused = error.isGenuine && (400..<500).contains(error.status) && error.code != "reply_invalid"
            guard isRefused, ![401, 408, 429].contains(error.status) else { throw error }
            return PurchaseResult(outcome: "refused", code: error.code)
        }
    }

    private func load(_ userId: String) throws -> Stored {
        let baseUrl = session.baseUrl
        let stored = try slot.read().flatMap { try? parseJson(Stored.self, Data($0.utf8)) }
        guard var stored else { return Stored(baseUrl: baseUrl, userId: userId) }
        if stored.baseUrl == baseUrl && stored.userId == userId { return stored }
        let all = (stored.others ?? []) + [stored]
        stored = all.first { $0.baseUrl == baseUrl && $0.userId == userId } ?? Stored(baseUrl: baseUrl, userId: userId)
        stored.others = all.filter { ($0.baseUrl, $0.userId) != (baseUrl, userId) && !$0.purchases.isEmpty }.map {
            Stored(baseUrl: $0.baseUrl, userId: $0.userId, purchases: $0.purchases)
        }
        return stored
    }

    /// Moves a guest's purchases to the account that the guest has signed in to.
    private func move(from guestId: String, to userId: String) throws {
        let moved = try load(guestId).purchases
        guard !moved.isEmpty else { return }
        try change(userId) { queued in queued += moved.filter { !queued.contains($0) } }
        try change(guestId) { $0 = [] }
    }

    private func change(_ userId: String, _ edit: (inout [SubmittedPurchase]) -> Void) throws {
        var stored = try load(userId)
        edit(&stored.purchases)
        try slot.write(stored)
    }
}

/// A wait that can be ended early, even before it begins.
@HomeportActor
private final class Pause {
    private let runner: Runner
    private var continueNow: (() -> Void)?
    /// Whether `end` was called since `begin`.
    private(set) var hasEnded = false

    nonisolated init(_ runner: Runner) { self.runner = runner }

    func begin() { hasEnded = false }

    func end() {
        hasEnded = true
        continueNow?()
    }

    /// `ms`: nil waits for `end`.
    func wait(_ ms: Double?) async {
        guard !hasEnded, ms != 0 else { return }
        await withCheckedContinuation { continuation in
            var cancel: @Sendable () -> Void = {}
            continueNow = {
                self.continueNow = nil
                cancel()
                continuation.resume()
            }
            if let ms { cancel = runner.after(ms) { self.end() } }
        }
    }
}

// MARK: - Storage

/// Where the client keeps its state. Several processes may share a storage. A function may throw any error.
public protocol HomeportStorage: Sendable {
    func getItem(_ key: String) throws -> String?
    func setItem(_ key: String, _ value: String) throws
    func removeItem(_ key: String) throws
}

/// Keeps items in memory until the app exits.
public final class MemoryStorage: HomeportStorage, @unchecked Sendable {
    private let lock = NSLock()
    private var items: [String: String] = [:]
    public init() {}
    public func getItem(_ key: String) -> String? { lock.locked { items[key] } }
    public func setItem(_ key: String, _ value: String) { lock.locked { items[key] = value } }
    public func removeItem(_ key: String) { lock.locked { items[key] = nil } }
}

/// Keeps each item in a file in a folder, which is replaced atomically.
public struct FileStorage: HomeportStorage {
    private let folder: URL

    public init(folder: URL) { self.folder = folder }

    public func getItem(_ key: String) throws -> String? {
        let path = folder.appendingPathComponent(key).path
        return FileManager.default.fileExists(atPath: path) ? try String(contentsOfFile: path, encoding: .utf8) : nil
    }

    public func setItem(_ key: String, _ value: String) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var options: Data.WritingOptions = .atomic
        #if os(iOS)
        options.insert(.completeFileProtectionUntilFirstUserAuthentication)
        #endif
        try Data(value.utf8).write(to: folder.appendingPathComponent(key), options: options)
    }

    public func removeItem(_ key: String) throws {
        let path = folder.appendingPathComponent(key).path
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
}

#if canImport(Security)
/// The keychain: readable after the first unlock, also in the background, and only on this device.
public struct KeychainStorage: HomeportStorage {
    private let service: String
    private let accessGroup: String?

    /// `accessGroup`: shares the session with an app extension.
    public init(service: String = Bundle.main.bundleIdentifier ?? "homeport", accessGroup: String? = nil) {
        (self.service, self.accessGroup) = (service, accessGroup)
    }

    public func getItem(_ key: String) throws -> String? {
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query(key, [kSecReturnData: true]), &found)
        if status == errSecItemNotFound { return nil }
        try check(status)
        return (found as? Data).map { String(decoding: $0, as: UTF8.self) }
    }

    public func setItem(_ key: String, _ value: String) throws {
        let values: [CFString: Any] = [
            kSecValueData: Data(value.utf8), kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = SecItemUpdate(query(key), values as CFDictionary)
        try check(status == errSecItemNotFound ? SecItemAdd(query(key, values), nil) : status)
    }

    public func removeItem(_ key: String) throws {
        let status = SecItemDelete(query(key))
        if status != errSecItemNotFound { try check(status) }
    }

    private func query(_ key: String, _ more: [CFString: Any] = [:]) -> CFDictionary {
        var query: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: key,
            kSecUseDataProtectionKeychain: true,
        ]
        query[kSecAttrAccessGroup] = accessGroup
        return query.merging(more) { $1 } as CFDictionary
    }

    private func check(_ status: OSStatus) throws {
        if status != errSecSuccess { throw NSError(domain: NSOSStatusErrorDomain, code: Int(status)) }
    }
}
#endif

private func defaultStorage() -> HomeportStorage {
    #if canImport(Security)
    return KeychainStorage()
    #else
    return MemoryStorage()
    #endif
}

/// A keychain is too small for settings and FAQs.
private func defaultOfflineStorage(for storage: HomeportStorage) -> HomeportStorage {
    #if canImport(Security)
    if storage is KeychainStorage,
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
    {
        // Mac apps without a sandbox share the folder.
        let app = Bundle.main.bundleIdentifier ?? "homeport"
        return FileStorage(folder: folder.appendingPathComponent(app).appendingPathComponent("homeport"))
    }
    #endif
    return storage
}

/// Reads and writes one key of a storage. Throws `storage_failed` if the storage fails.
private struct Slot: Sendable {
    let storage: HomeportStorage
    let key: String

    func read() throws -> String? { try attempt { try storage.getItem(key) } }
    func clear() throws { try attempt { try storage.removeItem(key) } }
    func write(_ value: some Encodable) throws {
        let text = String(decoding: try toJson(value), as: UTF8.self)
        try attempt { try storage.setItem(key, text) }
    }

    private func attempt<T>(_ work: () throws -> T) throws -> T {
        do { return try work() } catch {
            let message = "The storage of this device cannot be used."
            throw HomeportError(code: "storage_failed", message: message, cause: error)
        }
    }
}

// MARK: - Text and bytes

private func parseJson<T: Decodable>(_ type: T.Type, _ data: Data) throws -> T {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
        let value = try decoder.singleValueContainer()
        if let date = parseDate(try value.decode(String.self)) { return date }
        throw DecodingError.dataCorruptedError(in: value, debugDescription: "not a date")
    }
    return try decoder.decode(type, from: data)
}

private func toJson(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return try encoder.encode(value)
}

/// ISO 8601, with or without milliseconds.
private func parseDate(_ text: String) -> Date? {
    let precise = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    return (try? precise.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
}

/// The date of a header (RFC 9110) in ms.
private func parseHttpDate(_ text: String) -> Double? {
    let format = DateFormatter()
    (format.locale, format.dateFormat) = (Locale(identifier: "en_US_POSIX"), "EEE, dd MMM yyyy HH:mm:ss zzz")
    return format.date(from: text)?.milliseconds
}

/// Encodes as browsers do, because a sealed request contains the query that the server will see.
private func percentEncoded(_ text: String) -> String {
    let unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*()"
    return text.addingPercentEncoding(withAllowedCharacters: CharacterSet(charactersIn: unreserved)) ?? ""
}

private func randomData(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: 0...255) }) }
private func randomHex() -> String { randomData(16).map { String(format: "%02x", $0) }.joined() }

extension Date {
    fileprivate var milliseconds: Double { (timeIntervalSince1970 * 1000).rounded() }
    fileprivate init(milliseconds: Double) { self.init(timeIntervalSince1970: milliseconds / 1000) }
}

extension Data {
    fileprivate var base64Url: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    fileprivate init?(base64Url: String) {
        let text = base64Url.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
    }
}

extension JSONValue {
    fileprivate init(text: String) throws { self = try parseJson(JSONValue.self, Data(text.utf8)) }
    fileprivate func text() throws -> String { String(decoding: try toJson(self), as: UTF8.self) }
    fileprivate func decoded<T: Decodable>(as type: T.Type) throws -> T { try parseJson(type, toJson(self)) }
}
