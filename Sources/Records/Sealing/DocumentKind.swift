/// A kind of sealed document. `SecretBox` opens a document only as the kind that it was sealed as.
///
/// It is a class so that passing it costs one reference, and each kind's authenticated bytes are computed once.
package final class DocumentKind: Sendable {
  /// The size of the largest document that can be sealed, in bytes.
  package static let maximumSize = Int(Int32.max)

  /// Authenticated with each document, so it never changes. No two kinds have the same.
  package let name: String
  /// The size of the largest document that is compressed before it is sealed, in bytes; 0: none is. Opening refuses a document
  /// that decompresses to more, so a limit that is lowered makes some sealed documents unreadable.
  package let compressionLimit: Int
  /// Clients see the sealed document. It gets a random nonce: one from the sequence would show how many documents the service has sealed.
  let isShown: Bool
  private let plainPurpose: [UInt8]
  private let compressedPurpose: [UInt8]

  package init(_ name: String, compressionLimit: Int, isShown: Bool = false) {
    self.name = name
    self.isShown = isShown
    self.compressionLimit = compressionLimit
    plainPurpose = [DocumentFormat.plain.rawValue] + name.utf8
    compressedPurpose = [DocumentFormat.compressed.rawValue] + name.utf8
  }

  /// What is authenticated with a document.
  func purpose(_ format: DocumentFormat) -> [UInt8] {
    switch format {
    case .plain: plainPurpose
    case .compressed: compressedPurpose
    }
  }
}

/// How a document is written before it is encrypted: the first byte of the sealed document.
enum DocumentFormat: UInt8 {
  /// Unchanged.
  case plain = 1
  /// As a frame of Zstandard, with the dictionary.
  case compressed
}
