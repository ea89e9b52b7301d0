import JSON
import Testing
import TransferModel

@Suite struct ResumePointTests {
  @Test(arguments: [nil, 6]) func anUploadKeepsTheVersionOfItsServer(_ version: Int?) throws {
    let point = ResumePoint.upload(
      UploadPoint(resource: "http://a/r", source: TaskID(high: 1, low: 2), version: version))
    let json = try JSONParser.parse(point.json)
    #expect(ResumePoint(json: json) == point)
    #expect(json["version"]?.integer == version.map { Int64($0) })
  }
}
