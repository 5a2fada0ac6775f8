"""From images and words to features and prototypes: ONNX models, preprocessing, extraction."""
