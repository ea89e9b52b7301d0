import Crypto
import Testing
import TransferModel

@testable import Records

@Suite struct DocumentDictionaryTests {
  @Test func `dictionary for documents never changes`() {
    let digest = Hexadecimal.text(Array(SHA256.hash(data: DocumentDictionary.bytes)))
    #expect(digest == "c414b305305b6d25e9cb9b6a223abeb332891a716d92a7a28e4425fd987a7637")
  }
}
