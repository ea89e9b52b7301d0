/// A kind of sealed document. `SecretBox` opens a document only as the kind that it was sealed as.
///
/// It is a class so that passing it costs one reference, and each kind's authenticated bytes are computed once.
package final class DocumentKind: Sendable {
  /// The size of the largest document that can be sealed, in bytes.
  package static let maximumSize = Int(Int32.max)

  /// The unique name of the kind. It is authenticated with each document, so it never changes.
  package let name: String
  /// The size of the largest document that is compressed before it is sealed, in bytes, or 0 for none. Opening refuses a document that
  /// decompresses to more. A lower limit would therefore make some sealed documents unreadable.
  package let compressionLimit: Int
  /// Whether clients see the sealed document. It then gets a random nonce, because a counter would reveal how many documents were sealed.
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

  /// Returns the bytes that are authenticated with each document of this kind.
  func purpose(_ format: DocumentFormat) -> [UInt8] {
    switch format {
    case .plain: plainPurpose
    case .compressed: compressedPurpose
    }
  }
}

/// The form of a document before encryption, as the first byte of the sealed document.
enum DocumentFormat: UInt8 {
  /// The document, unchanged.
  case plain = 1
  /// A Zstandard frame that needs the dictionary.
  case compressed
}
