import Testing
import TransferModel

@Suite struct HexadecimalTests {
  @Test func `bytes are read again`() {
    let bytes = (0...255).map { UInt8($0) }
    #expect(Hexadecimal.text(bytes).hasPrefix("000102"))
    #expect(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes)
    #expect(Hexadecimal.bytes(Hexadecimal.text(bytes).uppercased()) == bytes)
    #expect(Hexadecimal.bytes("") == [])
  }

  @Test(arguments: ["0", "000", "0g", "g0", " 00", "0x00", "00é0"]) func otherTextIsRefused(_ text: String) {
    #expect(Hexadecimal.bytes(text) == nil)
  }
}
