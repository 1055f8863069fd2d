// The part of CryptoKit that the client uses, on OpenSSL's libcrypto. For tests on platforms without CryptoKit: real
// apps there use swift-crypto, whose module has the same name.
import COpenSSL
import Foundation

public enum CryptoShimError: Error {
    case invalidKey
    case invalidInput
    case authenticationFailure
}

public struct SHA256Digest: Sequence, Sendable {
    fileprivate let bytes: [UInt8]
    public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
}

public enum SHA256 {
    public static func hash(data: Data) -> SHA256Digest {
        var digest = [UInt8](repeating: 0, count: 32)
        let input = [UInt8](data)
        _ = COpenSSL.SHA256(input, input.count, &digest)
        return SHA256Digest(bytes: digest)
    }
}

public struct SymmetricKeySize: Sendable {
    let count: Int
    public static let bits256 = SymmetricKeySize(count: 32)
}

public struct SymmetricKey: ContiguousBytes, Sendable {
    fileprivate let bytes: [UInt8]
    public init(size: SymmetricKeySize) { bytes = (0..<size.count).map { _ in .random(in: 0...255) } }
    public init(data: Data) { bytes = [UInt8](data) }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

public struct SharedSecret: ContiguousBytes, Sendable {
    fileprivate let bytes: [UInt8]
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

/// A P-256 key, which never changes after its creation.
private final class Key: @unchecked Sendable {
    let key: OpaquePointer

    init() {
        key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        EC_KEY_generate_key(key)
    }

    /// `point`: x and y.
    init(point: Data) throws {
        key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        let bytes = [4] + [UInt8](point)
        // Also refuses a point that is not on the curve.
        guard point.count == 64, EC_KEY_oct2key(key, bytes, bytes.count, nil) == 1 else {
            throw CryptoShimError.invalidKey
        }
    }

    init(secret: Data) throws {
        key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        let bytes = [UInt8](secret)
        guard bytes.count == 32, EC_KEY_oct2priv(key, bytes, 32) == 1 else { throw CryptoShimError.invalidKey }
        let (group, point) = (EC_KEY_get0_group(key), EC_POINT_new(EC_KEY_get0_group(key)))
        defer { EC_POINT_free(point) }
        EC_POINT_mul(group, point, EC_KEY_get0_private_key(key), nil, nil, nil)
        EC_KEY_set_public_key(key, point)
    }

    deinit { EC_KEY_free(key) }

    var point: Data {
        var bytes = [UInt8](repeating: 0, count: 65)
        let (group, point) = (EC_KEY_get0_group(key), EC_KEY_get0_public_key(key))
        EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil)
        return Data(bytes.dropFirst())
    }
}

public enum P256 {
    public enum KeyAgreement {
        public struct PublicKey: Sendable {
            fileprivate let key: Key
            public init(rawRepresentation: Data) throws { key = try Key(point: rawRepresentation) }
            fileprivate init(key: Key) { self.key = key }
            public var rawRepresentation: Data { key.point }
        }

        public struct PrivateKey: Sendable {
            private let key: Key
            public init() { key = Key() }
            public init(rawRepresentation: Data) throws { key = try Key(secret: rawRepresentation) }
            public var publicKey: PublicKey { PublicKey(key: key) }

            public func sharedSecretFromKeyAgreement(with other: PublicKey) throws -> SharedSecret {
                var secret = [UInt8](repeating: 0, count: 32)
                let point = EC_KEY_get0_public_key(other.key.key)
                guard ECDH_compute_key(&secret, secret.count, point, key.key, nil) == 32 else {
                    throw CryptoShimError.invalidKey
                }
                return SharedSecret(bytes: secret)
            }
        }
    }

    public enum Signing {
        public struct ECDSASignature: Sendable {
            fileprivate let bytes: [UInt8]
            public init(rawRepresentation: Data) throws {
                guard rawRepresentation.count == 64 else { throw CryptoShimError.invalidInput }
                bytes = [UInt8](rawRepresentation)
            }
        }

        public struct PublicKey: Sendable {
            private let key: Key
            public init(rawRepresentation: Data) throws { key = try Key(point: rawRepresentation) }

            public func isValidSignature(_ signature: ECDSASignature, for data: Data) -> Bool {
                let digest = Crypto.SHA256.hash(data: data).bytes
                let parsed = ECDSA_SIG_new()
                defer { ECDSA_SIG_free(parsed) }
                let (r, s) = (Array(signature.bytes.prefix(32)), Array(signature.bytes.suffix(32)))
                ECDSA_SIG_set0(parsed, BN_bin2bn(r, 32, nil), BN_bin2bn(s, 32, nil))
                return ECDSA_do_verify(digest, 32, parsed, key.key) == 1
            }
        }
    }
}

public enum AES {
    public enum GCM {
        public struct Nonce: Sequence, Sendable {
            fileprivate let bytes: [UInt8]
            public init() { bytes = (0..<12).map { _ in .random(in: 0...255) } }
            public init(data: Data) throws {
                guard data.count == 12 else { throw CryptoShimError.invalidInput }
                bytes = [UInt8](data)
            }
            public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
        }

        public struct SealedBox: Sendable {
            public let nonce: Nonce
            public let ciphertext: Data
            public let tag: Data
            public init(nonce: Nonce, ciphertext: Data, tag: Data) throws {
                guard tag.count == 16 else { throw CryptoShimError.invalidInput }
                (self.nonce, self.ciphertext, self.tag) = (nonce, ciphertext, tag)
            }
        }

        public static func seal(
            _ message: Data, using key: SymmetricKey, nonce: Nonce = Nonce(), authenticating data: Data
        ) throws -> SealedBox {
            let context = start(key, nonce, data, isSealing: true)
            defer { EVP_CIPHER_CTX_free(context) }
            let ciphertext = update(context, message)
            var (rest, count) = ([UInt8](repeating: 0, count: 16), Int32(0))
            EVP_CipherFinal_ex(context, &rest, &count)
            var tag = [UInt8](repeating: 0, count: 16)
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag)
            return try SealedBox(nonce: nonce, ciphertext: ciphertext, tag: Data(tag))
        }

        public static func open(
            _ box: SealedBox, using key: SymmetricKey, authenticating data: Data
        ) throws -> Data {
            let context = start(key, box.nonce, data, isSealing: false)
            defer { EVP_CIPHER_CTX_free(context) }
            let message = update(context, box.ciphertext)
            var tag = [UInt8](box.tag)
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag)
            var (rest, count) = ([UInt8](repeating: 0, count: 16), Int32(0))
            guard EVP_CipherFinal_ex(context, &rest, &count) == 1 else { throw CryptoShimError.authenticationFailure }
            return message
        }

        private static func start(
            _ key: SymmetricKey, _ nonce: Nonce, _ data: Data, isSealing: Bool
        ) -> OpaquePointer? {
            let context = EVP_CIPHER_CTX_new()
            EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce.bytes, isSealing ? 1 : 0)
            let (input, count) = ([UInt8](data), UnsafeMutablePointer<Int32>.allocate(capacity: 1))
            defer { count.deallocate() }
            EVP_CipherUpdate(context, nil, count, input, Int32(input.count))
            return context
        }

        private static func update(_ context: OpaquePointer?, _ data: Data) -> Data {
            let input = [UInt8](data)
            var (output, count) = ([UInt8](repeating: 0, count: input.count + 16), Int32(0))
            EVP_CipherUpdate(context, &output, &count, input, Int32(input.count))
            return Data(output.prefix(Int(count)))
        }
    }
}
